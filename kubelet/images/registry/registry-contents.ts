import { Turns } from '../../../shared/concurrency/turns.ts'
import { BadImage } from '../bad-image.ts'
import type { Digest } from '../digest.ts'
import type { Descriptor } from '../documents.ts'
import { addChecked } from '../load/checked-layer.ts'
import type { Contents } from '../load/contents.ts'
import type { Loading } from '../store/loading.ts'
import { unpackLayer } from '../unpack/unpack-layer.ts'
import type { Repository } from './repository.ts'

/** Limits the layers that are pulled at a time; containerd's default (max_concurrent_downloads). */
const layersAtOnce = 3

/** Gives the parts of an image that a registry has. A manifest's name is a blob's place, others' are their digests. */
export class RegistryContents implements Contents {
  readonly what: string
  readonly #repository: Repository
  readonly #loading: Loading
  readonly #manifests = new Map<string, Promise<Uint8Array>>()
  readonly #sizes = new Map<string, number | undefined>()
  readonly #turns = new Turns(layersAtOnce)
  #hasFailed = false

  constructor(what: string, repository: Repository, loading: Loading) {
    this.what = what
    this.#repository = repository
    this.#loading = loading
  }

  async document(name: string): Promise<Uint8Array | undefined> {
    const [, hex] = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name) ?? []
    return hex ? this.manifest(`sha256:${hex}`) : this.#sized(name, await this.#repository.config(name as Digest))
  }

  /** Reads a manifest or an index, once. */
  manifest(digest: Digest): Promise<Uint8Array> {
    const read = this.#manifests.get(digest) ?? this.#repository.manifest(digest)
    this.#manifests.set(digest, read)
    return read
  }

  /** Keeps what a manifest says of sizes. */
  expect(descriptors: readonly Descriptor[]): void {
    for (const { digest, size } of descriptors) this.#sizes.set(digest, size)
  }

  async layer(name: string, wanted: { diffId: Digest; digest?: Digest }): Promise<void> {
    await this.#turns.take()
    try {
      if (this.#hasFailed || this.#loading.hasLayer(wanted.diffId)) return
      const chunks = this.#repository.layer(name as Digest, this.#sizes.get(name))
      const layer = await unpackLayer(chunks, this.#loading.newPlace(), { what: `the layer ${name}` })
      addChecked(this.#loading, layer, { name, ...wanted })
    } catch (error) {
      this.#hasFailed = true
      throw error
    } finally {
      this.#turns.give()
    }
  }

  #sized(name: string, bytes: Uint8Array): Uint8Array {
    const size = this.#sizes.get(name)
    if (size !== undefined && size !== bytes.length)
      throw new BadImage(`the configuration ${name} has ${bytes.length} bytes; its manifest says ${size}`)
    return bytes
  }
}
