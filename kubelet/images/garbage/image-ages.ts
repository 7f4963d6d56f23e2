import type { KeptImage } from '../../runtime/image-service.ts'

/** An image, and when it was seen and used. Times are monotonic milliseconds. */
export interface AgedImage {
  image: KeptImage
  firstSeenMs: number
  /** Holds -1 for an image that was never seen in use. */
  lastUsedMs: number
}

/** Remembers since when images are there, and when a container last used each. Upstream: images/image_gc_manager.go. */
export class ImageAges {
  #known = new Map<string, AgedImage>()

  /** No image is there that could ever be removed. */
  get isEmpty(): boolean {
    return [...this.#known.values()].every(({ image }) => image.pinned)
  }

  /** Takes in which images are there now, and which of them are in use. */
  see(images: readonly KeptImage[], used: ReadonlySet<string>, nowMs: number): void {
    const seen = images.map((image): [string, AgedImage] => {
      const before = this.#known.get(image.id)
      const lastUsedMs = used.has(image.id) ? nowMs : (before?.lastUsedMs ?? -1)
      return [image.id, { image, firstSeenMs: before?.firstSeenMs ?? nowMs, lastUsedMs }]
    })
    this.#known = new Map(seen)
  }

  /** Returns what may be removed, the image that was used least recently first. */
  unused(used: ReadonlySet<string>): AgedImage[] {
    return [...this.#known.values()]
      .filter(({ image }) => !image.pinned && !used.has(image.id))
      .sort((a, b) => a.lastUsedMs - b.lastUsedMs || a.firstSeenMs - b.firstSeenMs)
  }

  forget(id: string): void {
    this.#known.delete(id)
  }
}
