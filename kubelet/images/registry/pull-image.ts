import type { Clock } from '../../../shared/clock/clock.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import type { Credentials } from '../../runtime/container-runtime.ts'
import type { ImageName } from '../../runtime/images/image-name.ts'
import { BadImage } from '../bad-image.ts'
import type { Digest } from '../digest.ts'
import { manifestOf } from '../load/images-in.ts'
import { completed } from '../load/load-images.ts'
import { fullName } from '../store/image-names.ts'
import type { ImageRecord } from '../store/image-record.ts'
import type { ImageStore } from '../store/image-store.ts'
import { PullError } from './pull-error.ts'
import { RegistryContents } from './registry-contents.ts'
import { Repository } from './repository.ts'
import { endpointsOf, type RegistrySettings } from './settings.ts'
import { type PullTimeouts, Transport } from './transport.ts'

export interface PullOptions {
  settings: RegistrySettings
  /** Tried in turn; without any, the registry is asked without a name. */
  credentials?: readonly Credentials[]
  /** The image is for a pod, whose credentials they are. */
  byKubelet?: true
  /** Runs with those of the credentials that gave the image; undefined if there were none. */
  onAccess?(used: Credentials | undefined): void
  onProgress?(bytes: number, ofBytes: number): void
  timeouts?: PullTimeouts
  clock?: Clock
}

/**
 * Pulls an image into a store, or finds that the store has what the registry has. Throws {@link PullError} with
 * containerd's words where it has some; the store is then as it was.
 */
export async function pullImage(store: ImageStore, name: ImageName, options: PullOptions): Promise<ImageRecord> {
  const { settings, credentials = [], timeouts } = options
  const transport = new Transport(settings.proxies, timeouts)
  const pull = new Pull(store, name, { ...options, transport })
  const errors: PullError[] = []
  try {
    for (const one of credentials.length > 0 ? credentials : [undefined]) {
      try {
        const image = await pull.run(one)
        options.onAccess?.(one)
        return image
      } catch (error) {
        errors.push(inItsFrame(error as Error, name))
      }
    }
  } finally {
    await transport.close()
  }
  const [first, ...more] = errors
  const messages = new Set(errors.map(({ message }) => message))
  throw more.length === 0 || messages.size === 1 ? first : new PullError(`[${[...messages].join(', ')}]`)
}

class Pull {
  readonly #store: ImageStore
  readonly #name: ImageName
  readonly #options: PullOptions & { transport: Transport }
  #bytes = 0
  #ofBytes = 0

  constructor(store: ImageStore, name: ImageName, options: PullOptions & { transport: Transport }) {
    this.#store = store
    this.#name = name
    this.#options = options
  }

  async run(credentials: Credentials | undefined): Promise<ImageRecord> {
    const { repository, digest } = await this.#resolved(credentials)
    const known = this.#store.images.find(this.#name)
    if (known?.digest === digest && known.pulledBytes !== undefined) return known
    const loading = await this.#store.begin()
    try {
      const contents = new RegistryContents(fullName(this.#name), repository, loading)
      const { manifest, bytes: manifestBytes, digest: manifestDigest } = await manifestOf(contents, { digest })
      const target = await contents.manifest(digest)
      const parts = [manifest.config, ...manifest.layers]
      contents.expect(parts)
      this.#bytes = 0
      this.#ofBytes = parts.reduce((sum, { size = 0 }) => sum + size, 0)
      const image = await completed(contents, {
        names: [fullName(this.#name)],
        config: manifest.config.digest,
        configDigest: manifest.config.digest,
        layers: manifest.layers.map((layer) => ({ name: layer.digest, digest: layer.digest })),
        // It is the index, if there is one: the status of pods names the image by its digest.
        manifest: { digest, bytes: target },
      })
      const { byKubelet } = this.#options
      // As containerd counts: with the manifest, and the index that names it.
      const indexBytes = manifestDigest === digest ? 0 : target.length
      const pulledBytes = this.#ofBytes + manifestBytes.length + indexBytes
      return loading.addImage({ ...image, pulledBytes, byKubelet })[0] as ImageRecord
    } finally {
      loading.end()
    }
  }

  /** Asks the mirror first, then the registry itself, whose error counts. */
  async #resolved(credentials: Credentials | undefined): Promise<{ repository: Repository; digest: Digest }> {
    const { settings, transport, clock = realClock } = this.#options
    const { domain, repository: path, tag = 'latest', digest: wanted } = this.#name
    for (const endpoint of endpointsOf(domain, settings)) {
      const repository = new Repository({
        endpoint,
        repository: path,
        transport,
        clock,
        // What is said to a registry is not a mirror's business.
        credentials: endpoint.isMirror ? undefined : credentials,
        onBytes: (count) => this.#progressed(count),
      })
      try {
        return { repository, digest: await repository.resolve(wanted ?? tag) }
      } catch (error) {
        if (!endpoint.isMirror) throw inResolving(error as Error, this.#name)
      }
    }
    throw new PullError('no registry to ask')
  }

  #progressed(count: number): void {
    this.#bytes += count
    this.#options.onProgress?.(this.#bytes, this.#ofBytes)
  }
}

function inResolving(error: Error, name: ImageName): Error {
  if (!(error instanceof PullError || error instanceof BadImage)) return error
  const isMissing = error instanceof PullError && error.code === 'NotFound'
  const why = isMissing ? `${fullName(name)}: not found` : error.message
  return new PullError(`failed to resolve image: ${why}`, isMissing ? 'NotFound' : 'Unknown')
}

function inItsFrame(error: Error, name: ImageName): PullError {
  const code = error instanceof PullError ? error.code : 'Unknown'
  return new PullError(`failed to pull and unpack image "${fullName(name)}": ${error.message}`, code)
}
