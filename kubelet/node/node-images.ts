import type { ImageService, KeptImage } from '../runtime/image-service.ts'
import type { NodeImages } from './node-status.ts'

/** Upstream: MaxNamesPerImageInNodeStatus. */
const mostNames = 5

/** Returns what the node's status says of images: the largest first, at most `most` of them; -1 is all. Pure. */
export function shownImages(images: readonly KeptImage[], most: number): NodeImages {
  const bySize = images.toSorted((a, b) => b.sizeBytes - a.sizeBytes)
  return bySize.slice(0, most < 0 ? undefined : most).map(({ repoDigests, repoTags, sizeBytes }) => ({
    names: [...repoDigests, ...repoTags].slice(0, mostNames),
    sizeBytes,
  }))
}

/** The images of the node's status, as they were when they were last listed; none where the machine keeps none. */
export class SeenImages {
  shown: NodeImages | undefined
  readonly #images: ImageService | undefined
  readonly #most: number

  constructor(images: ImageService | undefined, most = 50) {
    this.#images = images
    this.#most = most
  }

  async list(): Promise<void> {
    if (this.#images) this.shown = shownImages(await this.#images.list(), this.#most)
  }
}
