import { posix } from 'node:path'
import { BadImage, shown } from '../bad-image.ts'
import { type Chunks, peek, readAll } from '../chunks.ts'
import type { Digest } from '../digest.ts'
import { imageLimits } from '../limits.ts'
import type { Loading } from '../store/loading.ts'
import { decompressed, isArchive } from '../unpack/decompress.ts'
import { eachEntry, type Header } from '../unpack/entries.ts'
import { type UnpackedLayer, unpackLayer } from '../unpack/unpack-layer.ts'
import { addChecked } from './checked-layer.ts'
import type { Contents } from './contents.ts'

/** Reads an archive that comes as a stream. Its manifest may come last, so every layer is unpacked as it comes. */
export async function readArchive(chunks: Chunks, loading: Loading, what: string): Promise<Contents> {
  const contents = new ArchiveContents(loading, what)
  const archive = await decompressed(chunks, what)
  await eachEntry(archive.chunks, what, (header, content) => contents.add(header, content))
  return contents
}

class ArchiveContents implements Contents {
  readonly what: string
  readonly #loading: Loading
  readonly #documents = new Map<string, Buffer>()
  /** An error for what could not be unpacked: it counts if an image has it as a layer. */
  readonly #layers = new Map<string, UnpackedLayer | Error>()
  readonly #links = new Map<string, string>()
  #documentBytes = 0

  constructor(loading: Loading, what: string) {
    this.#loading = loading
    this.what = what
  }

  async add({ type, name: written, linkname, size = 0 }: Header, content: Chunks): Promise<void> {
    const name = posix.normalize(written)
    if (type === 'symlink') this.#links.set(name, posix.join(posix.dirname(name), linkname ?? ''))
    else if (type === 'link') this.#links.set(name, posix.normalize(linkname ?? ''))
    if (type !== 'file') return
    const { head, all } = await peek(content, 512)
    if (isArchive(head)) return this.#hasStored(name) ? undefined : this.#addLayer(name, all)
    const { documentBytes, allDocumentBytes } = imageLimits
    if (size > documentBytes) return
    this.#documentBytes += size
    if (this.#documentBytes > allDocumentBytes)
      throw new BadImage(`${this.what} has too many small files to be an image`)
    this.#documents.set(name, await readAll(all, documentBytes, name))
  }

  async document(name: string): Promise<Uint8Array | undefined> {
    return this.#documents.get(this.#target(name))
  }

  async layer(name: string, wanted: { diffId: Digest; digest?: Digest }): Promise<void> {
    const found = this.#layers.get(this.#target(name))
    if (found instanceof Error) throw found
    if (found) addChecked(this.#loading, found, { name, ...wanted })
    else if (!this.#loading.hasLayer(wanted.diffId)) throw new BadImage(`${this.what} lacks the layer ${shown(name)}`)
  }

  /** Docker saves a layer that two images share once, with a link from the other's place. */
  #target(name: string): string {
    return this.#links.get(name) ?? name
  }

  /** Docker names an uncompressed layer by the digest of its files, so one that the store has need not be unpacked. */
  #hasStored(name: string): boolean {
    const hex = posix.basename(name)
    return /^[0-9a-f]{64}$/.test(hex) && this.#loading.hasLayer(`sha256:${hex}`)
  }

  async #addLayer(name: string, chunks: Chunks): Promise<void> {
    const folder = this.#loading.newPlace()
    try {
      this.#layers.set(name, await unpackLayer(chunks, folder, { what: `the layer ${name}` }))
    } catch (error) {
      this.#loading.discard({ folder })
      if (!(error instanceof BadImage)) throw error
      this.#layers.set(name, error)
    }
  }
}
