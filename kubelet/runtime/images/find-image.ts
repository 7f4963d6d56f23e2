import { type Credentials, ImageError, type ImageRequest, type ResolvedImage } from '../container-runtime.ts'
import type { Images } from './images.ts'

/** Brings images from registries to where {@link Images} finds them. Throws {@link ImageError}. */
export interface Pulls {
  /** Returns whether a pod may use an image that is there; if not, the registry has to be asked. */
  mayUse(image: string, found: ResolvedImage, credentials: () => Promise<readonly Credentials[]>): Promise<boolean>
  pull(image: string, credentials: readonly Credentials[]): Promise<void>
}

/** Finds an image by the container's policy: on this machine, or in its registry. Throws {@link ImageError}. */
export async function findImage(
  image: string,
  { policy, beginPull, credentials, ...options }: ImageRequest,
  { images, pulls }: { images: Images; pulls?: Pulls },
): Promise<ResolvedImage> {
  const found = attempt(() => images.resolve(image, options))
  const isThere = !(found instanceof ImageError)
  if (!isThere && found.reason !== 'ErrImagePull') throw found
  const mustAsk =
    isThere && policy !== 'Always' && pulls && credentials ? !(await pulls.mayUse(image, found, credentials)) : false
  // That an image is there is not told to a pod that may not use it.
  if (policy === 'Never' && (!isThere || mustAsk))
    throw new ImageError('ErrImageNeverPull', `Container image "${image}" is not present with pull policy of Never`)
  const isWanted = !isThere || mustAsk || (policy === 'Always' && found.isPulled)
  if (!isWanted || !pulls || !beginPull) {
    if (isThere) return found
    throw found
  }
  try {
    await pulls.pull(image, await beginPull())
  } catch (error) {
    if (!(error instanceof ImageError) || isThere || options.isVolume || !images.standIns || hasRegistry(image))
      throw error
    throw new ImageError(error.reason, `${error.message}; ${found.message}`)
  }
  return { ...images.resolve(image, options), present: false }
}

/** A name without a registry may have been meant for a program of this machine. */
const hasRegistry = (image: string): boolean => /^(?:[^/]*[.:][^/]*|localhost)\//.test(image)

function attempt(resolve: () => ResolvedImage): ResolvedImage | ImageError {
  try {
    return resolve()
  } catch (error) {
    if (error instanceof ImageError) return error
    throw error
  }
}
