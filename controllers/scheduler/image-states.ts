import type { TrimmedNode } from '../informers/trimmed-node.ts'

/** Describes an image that some nodes have. */
export interface ImageState {
  /** The size that the first node reported. */
  sizeBytes: number
  nodes: Set<string>
}

/** Knows which nodes have which images, by each name of an image. Upstream: pkg/scheduler/backend/cache. */
export class ImageStates {
  readonly #states = new Map<string, ImageState>()

  /** Replaces what is known of a node. Returns the images that it has now; undefined if there are none. */
  set(before: TrimmedNode | undefined, node: TrimmedNode | undefined): Map<string, ImageState> | undefined {
    if (before) this.#remove(before)
    const name = node?.metadata.name ?? ''
    const images = node?.status?.images ?? []
    if (images.length === 0) return undefined
    const found = new Map<string, ImageState>()
    for (const { names = [], sizeBytes = 0 } of images) {
      for (const image of names) {
        const state = this.#states.get(image) ?? { sizeBytes, nodes: new Set() }
        this.#states.set(image, state)
        state.nodes.add(name)
        found.set(image, state)
      }
    }
    return found
  }

  #remove({ metadata: { name = '' }, status }: TrimmedNode): void {
    for (const { names = [] } of status?.images ?? []) {
      for (const image of names) {
        const state = this.#states.get(image)
        state?.nodes.delete(name)
        if (state?.nodes.size === 0) this.#states.delete(image)
      }
    }
  }
}
