/** Versions of AdmissionReview and ConversionReview that we speak. */
export const reviewVersions: readonly string[] = ['v1', 'v1beta1']

/** The first that a webhook names, of those that we speak. */
export const reviewVersion = (named: readonly string[]): string | undefined =>
  named.find((version) => reviewVersions.includes(version))
