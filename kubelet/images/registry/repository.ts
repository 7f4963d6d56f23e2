import type { Clock } from '../../../shared/clock/clock.ts'
import type { Credentials } from '../../runtime/container-runtime.ts'
import { BadImage } from '../bad-image.ts'
import { readAll } from '../chunks.ts'
import { type Digest, digestOf, readDigest } from '../digest.ts'
import { imageLimits } from '../limits.ts'
import { Authorizer, unexpected } from './authorizer.ts'
import { PullError } from './pull-error.ts'
import type { Endpoint } from './settings.ts'
import { discard, NoAnswer, type Response, said, type Transport } from './transport.ts'

export interface RepositoryOptions {
  endpoint: Endpoint
  /** Names it within the registry: `library/nginx`. */
  repository: string
  transport: Transport
  clock: Clock
  credentials?: Credentials
  /** Runs for each part of a layer that has come. */
  onBytes?(count: number): void
}

type Method = 'GET' | 'HEAD'

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  '*/*',
].join(', ')

/** Limits how often a request with a temporary failure is sent again. */
const mostRetries = 3
const firstDelayMs = 500
/** A registry that asks for a longer pause is left to the kubelet's back-off. */
const longestDelayMs = 20_000
/** Matches the TLS library's errors about an answer in plain HTTP. */
const noTls = /EPROTO|ERR_SSL_|WRONG_VERSION_NUMBER/

/** Reads one repository of a registry, by the OCI distribution protocol. */
export class Repository {
  readonly #options: RepositoryOptions
  #base: URL
  #authorizer: Authorizer

  constructor(options: RepositoryOptions) {
    this.#options = options
    this.#base = baseOf(options.endpoint.url, options.repository)
    this.#authorizer = this.#newAuthorizer()
  }

  /** Returns the digest that a tag stands for now, or a digest that is there. Throws {@link PullError} NotFound. */
  async resolve(reference: string): Promise<Digest> {
    const response = await this.#timed((signal) => this.#send('HEAD', `manifests/${reference}`, {}, signal))
    discard(response)
    if (reference.includes(':')) return readDigest(reference, 'the name of the image')
    const digest = response.headers['docker-content-digest']
    if (digest !== undefined) return readDigest(String(digest), 'the registry’s answer')
    return digestOf(await this.manifest(reference))
  }

  manifest(reference: string): Promise<Uint8Array> {
    return this.#document(`manifests/${reference}`)
  }

  config(digest: Digest): Promise<Uint8Array> {
    return this.#document(`blobs/${digest}`)
  }

  /**
   * Reads a layer. A connection that breaks is followed by another, which goes on where the first one ended. Throws
   * {@link BadImage} if the layer has another size than its manifest says.
   */
  async *layer(digest: Digest, size: number | undefined): AsyncGenerator<Uint8Array> {
    let offset = 0
    let failures = 0
    for (;;) {
      const before = offset
      const range: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {}
      const response = await this.#send('GET', `blobs/${digest}`, range)
      try {
        for await (const chunk of contentFrom(response, offset, { digest, size })) {
          offset += chunk.length
          if (size !== undefined && offset > size) throw wrongSize(digest, `more than ${size}`, size)
          this.#options.onBytes?.(chunk.length)
          yield chunk
        }
        if (size === undefined || offset === size) return
        throw Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
      } catch (error) {
        if (error instanceof BadImage || error instanceof PullError) throw error
        failures = offset > before ? 1 : failures + 1
        if (failures > mostRetries) throw this.#brokenOff(digest, error as Error, { offset, size })
        await this.#options.clock.sleep(firstDelayMs * 2 ** (failures - 1))
      } finally {
        discard(response)
      }
    }
  }

  #brokenOff(digest: Digest, error: Error, { offset, size = 0 }: { offset: number; size?: number }): PullError {
    const url = new URL(`blobs/${digest}`, this.#base)
    const why = this.#options.transport.why(error, url)
    return new PullError(`failed to copy: ${said('GET', url)}: ${why} (after ${offset} of ${size || 'its'} bytes)`)
  }

  #document(path: string): Promise<Uint8Array> {
    return this.#timed(async (signal) => {
      const response = await this.#send('GET', path, {}, signal)
      try {
        return await readAll(response.body, imageLimits.documentBytes, `the answer for ${path}`)
      } catch (error) {
        if (error instanceof BadImage) throw error
        const url = new URL(path, this.#base)
        throw new PullError(`${said('GET', url)}: ${this.#options.transport.why(error as Error, url)}`)
      } finally {
        discard(response)
      }
    })
  }

  async #timed<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { clock, transport } = this.#options
    const late = new AbortController()
    const timer = clock.setTimer(transport.timeouts.documentMs, () => late.abort())
    try {
      return await work(late.signal)
    } finally {
      timer.cancel()
    }
  }

  /** Sends a request, again where the registry asks for a pause, and once more where it asks for a user. */
  async #send(method: Method, path: string, headers: Record<string, string>, signal?: AbortSignal) {
    let wasAsked = false
    for (let retries = 0; ; ) {
      const response = await this.#attempt(method, path, headers, signal)
      const { status } = response
      if (status >= 200 && status < 300) return response
      if (status === 401 && !wasAsked) {
        wasAsked = true
        await this.#answer(response, signal)
        if (this.#authorizer.header) continue
      }
      discard(response)
      if (status === 401) this.#authorizer.assertNotRefused(response)
      const url = new URL(path, this.#base)
      if (status === 404) throw new PullError(`${url.pathname}: not found`, 'NotFound')
      const delayMs = retryDelay(response, retries, this.#options.clock.now())
      const problem = unexpected(method, url, status)
      if (delayMs === undefined || retries === mostRetries) throw new PullError(problem)
      if (delayMs > longestDelayMs)
        throw new PullError(`${problem} (the registry asks to wait ${Math.ceil(delayMs / 1000)} s)`)
      retries += 1
      await this.#options.clock.sleep(delayMs, { signal })
    }
  }

  async #attempt(method: Method, path: string, headers: Record<string, string>, signal?: AbortSignal) {
    const { endpoint, repository, transport } = this.#options
    const { verifiesCertificate } = endpoint
    const authorization = this.#authorizer.header
    const given = { accept: manifestTypes, ...headers, ...(authorization && { authorization }) }
    const send = () =>
      transport.send(new URL(path, this.#base).href, { method, headers: given, verifiesCertificate, signal })
    try {
      return await send()
    } catch (error) {
      const isPlain = error instanceof NoAnswer && noTls.test(`${error.error.code} ${error.error.message}`)
      if (!endpoint.fallback || !isPlain || this.#base.protocol === 'http:') throw error
      this.#base = baseOf(endpoint.fallback, repository)
      this.#authorizer = this.#newAuthorizer()
      return await send()
    }
  }

  async #answer(response: Response, signal?: AbortSignal): Promise<void> {
    if (signal) return this.#authorizer.answer(response, signal)
    return this.#timed((timed) => this.#authorizer.answer(response, timed))
  }

  #newAuthorizer(): Authorizer {
    const { transport, endpoint, repository, credentials } = this.#options
    return new Authorizer({
      transport,
      registry: this.#base,
      verifiesCertificate: endpoint.verifiesCertificate,
      scope: `repository:${repository}:pull`,
      credentials,
    })
  }
}

const baseOf = (endpoint: string, repository: string): URL => new URL(`${endpoint}/v2/${repository}/`)

const wrongSize = (digest: Digest, has: string, size: number): BadImage =>
  new BadImage(`the layer ${digest} has ${has} bytes; its manifest says ${size}`)

/** The content of an answer from an offset on; a registry that knows no ranges sends all of it again. */
async function* contentFrom(
  { status, headers, body }: Response,
  offset: number,
  { digest, size }: { digest: Digest; size: number | undefined },
): AsyncGenerator<Uint8Array> {
  const length = Number(headers['content-length'] ?? Number.NaN)
  const wanted = size === undefined ? Number.NaN : status === 206 ? size - offset : size
  if (!Number.isNaN(length) && !Number.isNaN(wanted) && length !== wanted && !headers['content-encoding'])
    throw wrongSize(digest, String(status === 206 ? offset + length : length), size ?? 0)
  if (status === 206 && !String(headers['content-range']).startsWith(`bytes ${offset}-`))
    throw new PullError(`the registry sends another part of the layer ${digest} than was asked for`)
  let skip = status === 206 ? 0 : offset
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const rest = chunk.subarray(Math.min(skip, chunk.length))
    skip -= chunk.length - rest.length
    if (rest.length > 0) yield rest
  }
}

/** Returns how long to wait before the same request is sent again; undefined if that would not help. */
function retryDelay({ status, headers }: Response, retries: number, nowMs: number): number | undefined {
  if (status !== 429 && status < 500) return undefined
  const asked = String(headers['retry-after'] ?? '')
  if (/^\d+$/.test(asked)) return Number(asked) * 1000
  const until = Date.parse(asked)
  return Number.isNaN(until) ? firstDelayMs * 2 ** retries : Math.max(0, until - nowMs)
}
