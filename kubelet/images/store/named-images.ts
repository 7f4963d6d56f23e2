import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { namesIn } from '../../../shared/files/readable.ts'
import type { ImageName } from '../../runtime/images/image-name.ts'
import { hexOf } from '../digest.ts'
import { fullName } from './image-names.ts'
import type { ImageRecord } from './image-record.ts'
import { StoreFolders } from './store-folders.ts'

/** Reads which images a store has. The store may not exist, and other processes may be changing it. */
export class NamedImages {
  readonly #folders: StoreFolders
  /** Records that were found by name, by their files. */
  readonly #known = new Map<string, { ino: number; mtimeMs: number; record: ImageRecord }>()

  constructor(root: string) {
    this.#folders = new StoreFolders(root)
  }

  find(name: ImageName): ImageRecord | undefined {
    const found = this.#read(this.#folders.record(fullName(name)))
    if (found || !name.digest) return found
    const place = fullName({ ...name, digest: undefined, tag: '' })
    return this.all().find((image) => image.digest === name.digest && image.name.startsWith(place))
  }

  /** Finds by the beginning of an ID, as it is shown. */
  byId(id: string): ImageRecord[] {
    return this.all().filter((image) => hexOf(image.id).startsWith(id) || image.id.startsWith(id))
  }

  all(): ImageRecord[] {
    return namesIn(this.#folders.names)
      .filter((file) => /^[0-9a-f]{64}$/.test(file))
      .flatMap((file) => read(join(this.#folders.names, file)) ?? [])
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Reads a record once: a later one of this name is another file, which is renamed to its place. */
  #read(file: string): ImageRecord | undefined {
    const stat = statSync(file, { throwIfNoEntry: false })
    const known = this.#known.get(file)
    if (stat && known?.ino === stat.ino && known.mtimeMs === stat.mtimeMs) return known.record
    this.#known.delete(file)
    const record = stat && read(file)
    if (record) this.#known.set(file, { ino: stat.ino, mtimeMs: stat.mtimeMs, record })
    return record
  }

  /** The folder that containers of the image see. */
  root({ config }: ImageRecord): string {
    return this.#folders.root(config.layers)
  }
}

function read(file: string): ImageRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ImageRecord
  } catch {
    return undefined
  }
}
