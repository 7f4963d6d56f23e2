import { createReadStream, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BadImage, shown } from '../bad-image.ts'
import type { Digest } from '../digest.ts'
import { imageLimits } from '../limits.ts'
import type { Loading } from '../store/loading.ts'
import { unpackLayer } from '../unpack/unpack-layer.ts'
import { addChecked } from './checked-layer.ts'
import type { Contents } from './contents.ts'

/** Reads an OCI layout that is a folder, or the folder that an archive of `docker save` was unpacked to. */
export class FolderContents implements Contents {
  readonly what: string
  readonly #loading: Loading

  constructor(folder: string, loading: Loading) {
    this.what = folder
    this.#loading = loading
  }

  async document(name: string): Promise<Uint8Array | undefined> {
    const file = this.#file(name)
    if (!file) return undefined
    if (file.size > imageLimits.documentBytes) throw new BadImage(`${name} is too large for a manifest`)
    return readFileSync(file.path)
  }

  async layer(name: string, wanted: { diffId: Digest; digest?: Digest }): Promise<void> {
    if (this.#loading.hasLayer(wanted.diffId)) return
    const file = this.#file(name)
    if (!file) throw new BadImage(`${this.what} lacks the layer ${shown(name)}`)
    const stream = createReadStream(file.path, { highWaterMark: 1 << 20 })
    const layer = await unpackLayer(stream, this.#loading.newPlace(), { what: `the layer ${name}` })
    addChecked(this.#loading, layer, { name, ...wanted })
  }

  /** A name comes from a manifest, which may say anything. */
  #file(name: string): { path: string; size: number } | undefined {
    if (name.split('/').includes('..')) throw new BadImage(`${shown(name)} leads out of ${this.what}`)
    const path = join(this.what, name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? { path, size: found.size } : undefined
  }
}
