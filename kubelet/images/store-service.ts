import { statSync } from 'node:fs'
import type { ImageService, KeptImage } from '../runtime/image-service.ts'
import { parseImageName } from '../runtime/images/image-name.ts'
import type { ImageRecord } from './store/image-record.ts'
import { NamedImages } from './store/named-images.ts'
import { StoreFolders } from './store/store-folders.ts'

/** The images of a store, as the node's status and garbage collection see them. */
export class StoreService implements ImageService {
  readonly folder: string
  readonly #names: string
  readonly #images: NamedImages
  readonly #remove: ((id: string) => Promise<boolean>) | undefined
  /** Holds what was read when the folder of names had this time. */
  #read: { atMs: number; images: readonly KeptImage[] } | undefined

  /** All images are pinned where there is no `remove`. */
  constructor(root: string, remove?: (id: string) => Promise<boolean>) {
    this.folder = root
    this.#names = new StoreFolders(root).names
    this.#images = new NamedImages(root)
    this.#remove = remove
  }

  async list(): Promise<readonly KeptImage[]> {
    // Each change of an image renames a file within.
    const atMs = statSync(this.#names, { throwIfNoEntry: false })?.mtimeMs
    if (atMs === undefined) return []
    if (this.#read?.atMs !== atMs) {
      const byId = Map.groupBy(this.#images.all(), ({ id }) => id)
      this.#read = { atMs, images: [...byId.values()].map((records) => this.#kept(records)) }
    }
    return this.#read.images
  }

  idOf(reference: string): string | undefined {
    try {
      return this.#images.find(parseImageName(reference))?.id
    } catch {
      return undefined // no name of an image
    }
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#remove?.(id)) ?? false
  }

  #kept(records: readonly ImageRecord[]): KeptImage {
    const digests = records.flatMap(({ name, digest }) => (digest ? `${name.replace(tagOrDigest, '')}@${digest}` : []))
    const [{ id, bytes, pulledBytes }] = records as [ImageRecord]
    return {
      id,
      repoDigests: [...new Set(digests)],
      repoTags: records.map(({ name }) => name).filter((name) => !name.includes('@')),
      sizeBytes: pulledBytes ?? bytes,
      // No registry has what a command has loaded.
      pinned: this.#remove === undefined || records.some((record) => record.pulledBytes === undefined),
    }
  }
}

const tagOrDigest = /(?:@.*|:[^/]*)$/
