import { type Options, type OptionType, option, UsageError, type Values } from '../../../shared/config/option.ts'
import { EntryError, names, oneOf } from '../../../shared/config/option-types.ts'

const patterns: OptionType<string[]> = {
  ...names,
  placeholder: 'PATTERN,…',
  fromText: (text, soFar) => checked(names.fromText(text, soFar)),
  fromFile: (value) => checked(names.fromFile(value)),
}

/** Accepts what upstream does: a name without tag and digest, or a beginning that ends with a slash and a star. */
function checked(all: string[]): string[] {
  for (const pattern of all) {
    const name = pattern.replace(/(?<=.)\/\*$/, '')
    if (!/^[\w.-]+(?::\d+)?(?:\/[\w.-]+)*$/.test(name) || (name === pattern && /:\d+$/.test(name)))
      throw new EntryError(pattern, `has ${pattern}, which is neither a name without a tag nor one that ends with /*`)
  }
  return all
}

/** Defines when a pod has to prove that it may use an image that is there already. The names are upstream's. */
export const verificationOptions = {
  imagePullCredentialsVerificationPolicy: option(
    oneOf('NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'),
    {
      default: 'NeverVerifyPreloadedImages',
      help: 'Which images that are there a pod may use only with the credentials that they were pulled with; preloaded: not pulled by a kubelet',
    },
  ),
  preloadedImagesVerificationAllowlist: option(patterns, {
    default: [],
    help: 'Images that all pods may use with NeverVerifyAllowlistedImages: names without a tag, or with /* at the end',
  }),
} satisfies Options

export interface VerificationPolicy {
  policy: Values<typeof verificationOptions>['imagePullCredentialsVerificationPolicy']
  allowlist: readonly string[]
}

/** Throws a UsageError for values that do not fit together. */
export function verificationPolicy(values: Values<typeof verificationOptions>): VerificationPolicy {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } = values
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    throw new UsageError(
      `preloadedImagesVerificationAllowlist needs imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages, not ${policy}`,
    )
  return { policy, allowlist }
}
