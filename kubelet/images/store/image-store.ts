import { renameSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { lockHolder, takeLock } from '../../../shared/files/lock.ts'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import { namesIn } from '../../../shared/files/readable.ts'
import { BadImage } from '../bad-image.ts'
import { type Digest, hexOf } from '../digest.ts'
import type { ImageRecord } from './image-record.ts'
import { Loading } from './loading.ts'
import { NamedImages } from './named-images.ts'
import { partsInUse } from './parts-in-use.ts'
import { StoreFolders } from './store-folders.ts'

const lockPollMs = 20
const lockTimeoutMs = 300_000

/** A container runs an image that was to be removed. */
export class ImageInUse extends BadImage {}

/**
 * Keeps images on this machine, for its clusters and commands at once. Each load works in a folder of its own; only
 * a complete image gets a name, with one rename. A process that is killed leaves a folder that the next one removes.
 */
export class ImageStore {
  readonly images: NamedImages
  readonly #folders: StoreFolders

  /** `root`: made with the first image. */
  constructor(root: string) {
    this.#folders = new StoreFolders(resolve(root))
    this.images = new NamedImages(resolve(root))
  }

  /** Begins to load images. Until it ends, the store gives up no layer. */
  async begin(): Promise<Loading> {
    for (const folder of this.#folders.all) makeFolder(folder)
    return this.#locked(() => {
      this.#removeAbandoned()
      return new Loading(this.#folders)
    })
  }

  /** Forgets names. Throws {@link ImageInUse} if a container runs an image that has no other name. */
  async remove(images: readonly ImageRecord[]): Promise<void> {
    await this.#locked(() => {
      const going = new Set(images.map(({ name }) => name))
      const staying = this.images.all().filter(({ name }) => !going.has(name))
      const userOf = partsInUse()
      for (const image of images) {
        const tree = basename(this.#folders.tree(image.config.layers))
        const pid = staying.some(({ id }) => id === image.id) ? undefined : userOf(tree)
        if (pid) throw new ImageInUse(`a container runs ${image.name} (process ${pid}); delete its pod first`)
      }
      for (const { name } of images) rmSync(this.#folders.record(name), { force: true })
    })
    await this.prune()
  }

  /** Removes what no image needs, and no container uses. Returns how many layers went. */
  async prune(): Promise<number> {
    return this.#locked(() => {
      this.#removeAbandoned()
      if (namesIn(this.#folders.loading).length > 0) return 0
      const needed = new Set(this.images.all().flatMap((image) => this.#partsOf(image)))
      const parts = [this.#folders.layers, this.#folders.roots, this.#folders.blobs].flatMap((folder) =>
        namesIn(folder).map((name) => join(folder, name)),
      )
      const userOf = partsInUse()
      const unneeded = parts.filter((part) => !needed.has(part) && !userOf(basename(part)))
      for (const part of unneeded) this.#discard(part)
      this.#forgetPulls()
      return unneeded.filter((part) => part.startsWith(`${this.#folders.layers}/`)).length
    })
  }

  /** Removes records of pulls whose image is gone. */
  #forgetPulls(): void {
    const ids = new Set(this.images.all().map(({ id }) => hexOf(id)))
    for (const id of namesIn(this.#folders.pulled))
      if (!ids.has(id)) rmSync(join(this.#folders.pulled, id), { force: true })
  }

  #partsOf(image: ImageRecord): string[] {
    const { id, digest, config } = image
    const blobs = [id, digest].filter((one): one is Digest => one !== undefined)
    return [
      this.#folders.tree(config.layers),
      ...config.layers.map((layer) => this.#folders.layer(layer)),
      ...blobs.map((blob) => this.#folders.blob(blob)),
    ]
  }

  /** Renamed first: half a layer must not count as one. */
  #discard(part: string): void {
    const place = join(this.#folders.loading, `gone-${basename(part)}`)
    renameSync(part, place)
    rmSync(place, { recursive: true, force: true })
  }

  /** Removes what processes left that were killed. */
  #removeAbandoned(): void {
    for (const name of namesIn(this.#folders.loading)) {
      const folder = join(this.#folders.loading, name)
      if (!lockHolder(join(folder, 'lock'))) rmSync(folder, { recursive: true, force: true })
    }
  }

  async #locked<Result>(work: () => Result): Promise<Result> {
    makeFolder(this.#folders.loading)
    const deadline = realClock.monotonic() + lockTimeoutMs
    for (;;) {
      const lock = takeLock(this.#folders.lock)
      if (lock.taken) {
        try {
          return work()
        } finally {
          lock.release()
        }
      }
      if (realClock.monotonic() > deadline)
        throw new BadImage(`process ${lock.pid} holds ${this.#folders.lock} for too long; end it, and try again`)
      await realClock.sleep(lockPollMs)
    }
  }
}
