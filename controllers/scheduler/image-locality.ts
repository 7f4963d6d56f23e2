import type { NodeInfo, PodInfo } from './node-info.ts'

const MiB = 1024 * 1024
/** Images below this size are pulled too fast to matter. */
const leastBytes = 23 * MiB
/** Further bytes for each container make a node no better. */
const mostBytesEach = 1000 * MiB

/** Prefers nodes that have a pod's images. Upstream: plugins/imagelocality. */
export class ImageLocality {
  readonly #images: readonly string[]
  readonly #most: number
  readonly #nodeCount: number

  constructor({ pod: { spec } }: PodInfo, nodeCount: number) {
    const containers = [...(spec.initContainers ?? []), ...spec.containers]
    const references = [
      ...containers.map(({ image = '' }) => image),
      ...(spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? []),
    ]
    this.#images = references.map(withTag)
    this.#most = mostBytesEach * containers.length
    this.#nodeCount = nodeCount
  }

  /** Returns 0 to 100. An image that few nodes have counts less, so that not all pods run there. */
  score({ images }: NodeInfo): number {
    let bytes = 0
    for (const name of this.#images) {
      const state = images?.get(name)
      if (state) bytes += Math.trunc((state.sizeBytes * state.nodes.size) / this.#nodeCount)
    }
    const counted = Math.min(Math.max(bytes, leastBytes), this.#most)
    return Math.trunc((100 * (counted - leastBytes)) / (this.#most - leastBytes))
  }
}

/** Names are compared as they are written, as upstream does: `nginx` is not `docker.io/library/nginx:latest`. */
const withTag = (name: string): string => (name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name)
