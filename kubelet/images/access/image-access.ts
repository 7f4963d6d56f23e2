import type { Credentials, ResolvedImage } from '../../runtime/container-runtime.ts'
import { parseImageName } from '../../runtime/images/image-name.ts'
import type { Digest } from '../digest.ts'
import { PulledRecords, secretOf } from './pulled-records.ts'
import type { VerificationPolicy } from './verification-options.ts'

/** Decides which pods may use an image that is there, without asking its registry. */
export class ImageAccess {
  readonly #records: PulledRecords
  readonly #policy: VerificationPolicy

  constructor(folder: string, policy: VerificationPolicy) {
    this.#records = new PulledRecords(folder)
    this.#policy = policy
  }

  /**
   * Returns whether a pod with these credentials may use the image. If it may not, the registry has to be asked.
   * Upstream: MustAttemptImagePull in pullmanager/image_pull_manager.go.
   */
  async mayUse(
    image: string,
    { stored }: Pick<ResolvedImage, 'stored'>,
    credentials: () => Promise<readonly Credentials[]>,
  ): Promise<boolean> {
    if (!stored || !this.#isVerified(image, stored.byKubelet)) return true
    const repository = repositoryOf(image)
    const access = this.#records.accessTo(stored.id as Digest, repository)
    if (!access || access.everyone) return access !== undefined
    for (const given of await credentials()) {
      const secret = secretOf(given)
      const known =
        secret &&
        access.secrets.some(
          ({ hash, namespace, name, uid }) =>
            hash === secret.hash || (namespace === secret.namespace && name === secret.name && uid === secret.uid),
        )
      if (!known) continue
      // Either the secret or what it says is new.
      this.#records.add(stored.id as Digest, repository, given)
      return true
    }
    return false
  }

  /** Keeps that an image was pulled with these credentials, or with none. */
  pulled(image: string, id: string, credentials: Credentials | undefined): void {
    this.#records.add(id as Digest, repositoryOf(image), credentials)
  }

  forget(id: string): void {
    this.#records.forget(id as Digest)
  }

  #isVerified(image: string, byKubelet: boolean): boolean {
    const { policy, allowlist } = this.#policy
    if (policy === 'NeverVerifyAllowlistedImages')
      return !allowlist.some((pattern) => matches(pattern, withoutTag(image)))
    return policy === 'AlwaysVerify' || (policy === 'NeverVerifyPreloadedImages' && byKubelet)
  }
}

function repositoryOf(image: string): string {
  const { domain, repository } = parseImageName(image)
  return `${domain}/${repository}`
}

/** Keeps the name as the pod writes it: patterns are compared with that. */
const withoutTag = (image: string): string => image.replace(/@.*$/, '').replace(/:[^/]*$/, '')

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
