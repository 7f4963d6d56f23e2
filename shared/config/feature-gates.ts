/** Every feature gate there is, with its default: all programs accept all of them, as upstream's do. */
export const knownFeatureGates = { PodTerminationReason: true, ProbeTerminationGracePeriod: true }
export type FeatureGates = typeof knownFeatureGates
