import { createSecureContext } from 'node:tls'
import { StatusError } from '../api/status/status-error.ts'
import type { DeleteOptions, KubeList, KubeObject, Status, WatchEvent } from '../api/types.ts'
import type { Clock, Timer } from '../clock/clock.ts'
import type { KeyPair } from '../pki/certificate.ts'
import type { Client, ListQuery, ObjectRef, PatchSettings, PatchType, Resource, WatchQuery } from './client.ts'
import { Gathered } from './gathered.ts'
import { Http1Transport } from './http1-transport.ts'
import { Http2Transport } from './http2/transport.ts'
import { lines } from './json-lines.ts'
import { maxAnswerBytes } from './limits.ts'
import { listPath, objectPath, queryString, resourcePath, watchPath } from './resource-path.ts'
import {
  type Cancellation,
  type PlainAnswer,
  type PlainRequest,
  StaleConnectionError,
  type StreamedAnswer,
  type Transport,
} from './transport.ts'

/**
 * Holds the address of an API server and credentials for it, as PEM texts. `loadKubeconfig` (kubeconfig.ts) reads them
 * from a file.
 */
export interface ClusterAccess {
  /** `https://127.0.0.1:6443` */
  server: string
  ca?: string
  cert?: string
  key?: string
  token?: string
  tlsServerName?: string
  insecureSkipTlsVerify?: boolean
}

/** Holds fields of the answer to `/version`. */
export interface VersionInfo {
  gitVersion: string
  gitCommit: string
}

/** Reads and writes objects over the network. */
export interface ServerClient extends Client {
  version(): Promise<VersionInfo>
  /** Returns the document at a path that is not a resource, such as `/apis`. */
  document<T extends object>(path: string): Promise<T>
  /** Replaces what is at a path, such as a scale. */
  put<T extends object>(path: string, object: object): Promise<T>
  /**
   * Uses other credentials from now on. Requests that are under way are answered, watches end, and later requests use a
   * new connection.
   */
  useCertificate(pair: KeyPair): void
}

export interface RestClientOptions extends ClusterAccess {
  clock: Clock
  userAgent?: string
  /** Adds headers to every request. */
  headers?: Readonly<Record<string, string>>
  /** Applies to everything but watches. Default 30 s. */
  requestTimeoutMs?: number
  /** Everything on one HTTP/2 connection, with a server that speaks it. For clients with many requests. */
  http2?: boolean
  /** Requests at the same time; in HTTP/1.1 each has its own connection. Default 16; watches come on top. */
  maxRequests?: number
}

/**
 * {@link Client} over HTTPS, on connections of our own making; watches in HTTP/1.1 go through node:https. That takes 7
 * MB less than node:http2 and 23 MB less than undici (docs/decisions/017-clients-without-undici.md).
 *
 * A failure that the server put into words is a {@link StatusError}; everything else (refused, reset, timed out) is the
 * plain Error of the network.
 */
export function createRestClient(options: RestClientOptions): ServerClient {
  return new RestClient(options)
}

interface RequestBody {
  body?: unknown
  contentType?: string
  /** The answer to a success is not wanted. */
  unread?: boolean
}

const PATCH_TYPES: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000
const DEFAULT_MAX_REQUESTS = 16
const TCP_KEEP_ALIVE_MS = 30_000

class RestClient implements ServerClient {
  readonly #clock: Clock
  readonly #target: { hostname: string; port: string; prefix: string; servername?: string }
  readonly #headers: Record<string, string>
  readonly #requestTimeoutMs: number
  readonly #options: RestClientOptions
  #requests: Transport
  /** Ends the watches that use the current credentials. */
  #watches = new AbortController()
  #isClosed = false

  constructor(options: RestClientOptions) {
    const { hostname, port, pathname } = new URL(options.server)
    this.#clock = options.clock
    this.#options = options
    this.#target = {
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port || '443',
      prefix: pathname.replace(/\/$/, ''),
      ...(options.tlsServerName && { servername: options.tlsServerName }),
    }
    this.#requestTimeoutMs = options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS
    this.#headers = {
      ...options.headers,
      accept: 'application/json',
      'user-agent': options.userAgent ?? 'kubestage',
      ...(options.token && { authorization: `Bearer ${options.token}` }),
    }
    this.#requests = this.#transport(options)
  }

  get<T extends object = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T> {
    return this.#json<T>('GET', objectPath(resource, ref))
  }

  async list<T extends object = KubeObject>(resource: Resource, query?: ListQuery): Promise<KubeList<T>> {
    const path = listPath(resource, query)
    const list = await this.#json<KubeList<T>>('GET', path)
    // Go encodes an empty list as null.
    const items = list.items ?? []
    if (!Array.isArray(items) || !items.every(hasMetadata))
      throw new Error(`GET ${path}: the server's answer is not a list`)
    return { ...list, metadata: list.metadata ?? {}, items }
  }

  create<T extends object = KubeObject>(
    resource: Resource,
    object: T,
    { unread, ...options }: { namespace?: string; subresource?: string; name?: string; unread?: boolean } = {},
  ): Promise<T> {
    const path = resourcePath(resource, { ...options, namespace: options.namespace ?? metadataOf(object).namespace })
    if (unread) return this.#text('POST', path, { body: object, unread }).then(() => object)
    return this.#json<T>('POST', path, object)
  }

  update<T extends object = KubeObject>(
    resource: Resource,
    object: T,
    options: { subresource?: string } = {},
  ): Promise<T> {
    const { namespace, name } = metadataOf(object)
    return this.#json<T>('PUT', resourcePath(resource, { namespace, name, ...options }), object)
  }

  async patch<T extends object = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: unknown,
    options: PatchSettings = {},
  ): Promise<T> {
    const { fieldManager, type, subresource, foreseen } = options
    const query = type === 'apply' ? { fieldManager, force: true } : {}
    const path = objectPath(resource, ref, subresource) + queryString(query)
    const contentType = PATCH_TYPES[type ?? 'merge']
    if (!foreseen) return this.#json<T>('PATCH', path, patch, contentType)
    const text = await this.#text('PATCH', path, { body: patch, contentType })
    const resourceVersion = onlyVersionIn(text)
    if (resourceVersion === undefined) return answered<T>(text, `PATCH ${path}`)
    return { ...foreseen, metadata: { ...foreseen.metadata, resourceVersion } } as T
  }

  async delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<void> {
    const body = options && { kind: 'DeleteOptions', apiVersion: 'v1', ...options }
    await this.#text('DELETE', objectPath(resource, ref), { body, unread: true })
  }

  async *watch<T extends object = KubeObject>(resource: Resource, query: WatchQuery): AsyncGenerator<WatchEvent<T>> {
    const { signal: current } = this.#watches
    const signal = query.signal ? AbortSignal.any([query.signal, current]) : current
    if (signal.aborted) return
    const path = watchPath(resource, query)
    const what = `GET ${path}`
    const late = new LateWatch(this.#clock, what)
    try {
      late.expect('no answer', this.#requestTimeoutMs)
      const answer = await this.#requests.stream(this.#target.prefix + path, AbortSignal.any([signal, late.signal]))
      if (answer.status !== 200) throw await readFailure(answer)
      if (query.timeoutSeconds === undefined) late.cancel()
      else late.expect('the server has not ended the watch', query.timeoutSeconds * 1000 + this.#requestTimeoutMs)
      for await (const line of lines(answer.body)) {
        const event = eventIn<T>(line, what)
        if (event.type === 'ERROR') throw statusError(event.object)
        yield event
      }
      late.check()
    } catch (error) {
      if (!signal.aborted) throw late.signal.aborted ? late.signal.reason : error
    } finally {
      late.cancel()
    }
  }

  version(): Promise<VersionInfo> {
    return this.document('/version')
  }

  document<T extends object>(path: string): Promise<T> {
    return this.#json('GET', path)
  }

  put<T extends object>(path: string, object: object): Promise<T> {
    return this.#json('PUT', path, object)
  }

  useCertificate(pair: KeyPair): void {
    if (this.#isClosed) return
    const [watches, requests] = [this.#watches, this.#requests]
    this.#watches = new AbortController()
    this.#requests = this.#transport(pair)
    watches.abort()
    requests.retire()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#watches.abort()
    this.#requests.close()
  }

  #transport({ cert, key }: Partial<KeyPair>): Transport {
    const { ca, insecureSkipTlsVerify, http2, maxRequests } = this.#options
    const { hostname, port, servername } = this.#target
    const tls = {
      // As in Go's clients, the server's own certificate may be the trusted one.
      secureContext: createSecureContext({ ca, cert, key, allowPartialTrustChain: true }),
      rejectUnauthorized: !insecureSkipTlsVerify,
      keepAlive: true,
      keepAliveMsecs: TCP_KEEP_ALIVE_MS,
      // A resumed session may reach the server without the client's certificate.
      maxCachedSessions: 0,
      host: hostname,
      port: Number(port),
      servername,
    }
    const Carrier = http2 ? Http2Transport : Http1Transport
    return new Carrier({
      clock: this.#clock.machine,
      tls,
      authority: `${new URL(this.#options.server).hostname}:${port}`,
      headers: this.#headers,
      maxRequests: maxRequests ?? DEFAULT_MAX_REQUESTS,
    })
  }

  async #json<T>(method: string, path: string, body?: unknown, contentType?: string): Promise<T> {
    return answered(await this.#text(method, path, { body, contentType }), `${method} ${path}`)
  }

  async #text(
    method: string,
    path: string,
    { body, contentType = 'application/json', unread }: RequestBody,
  ): Promise<string> {
    if (this.#isClosed) throw new Error('the client is closed')
    const request: PlainRequest = {
      method,
      path: this.#target.prefix + path,
      ...(body !== undefined && { body: JSON.stringify(body), contentType }),
      unread,
    }
    const deadline = new Deadline(this.#clock, this.#requestTimeoutMs, `${method} ${path}`)
    try {
      const answer = await this.#requests.request(request, deadline).catch((error: unknown) => {
        if (!(error instanceof StaleConnectionError)) throw error
        // Only reads, and requests that were not sent, are retried.
        if (method !== 'GET' && !error.isUntouched) throw error.cause
        return this.#requests.request(request, deadline)
      })
      if (answer.status >= 300) throw failureOf(answer)
      return answer.body
    } finally {
      deadline.cancel()
    }
  }
}

/** Ends a request that takes too long. An AbortSignal for each would cost more than the rest of a short request. */
class Deadline implements Cancellation {
  #whenCancelled: ((error: Error) => void) | undefined
  readonly #timer: Timer

  constructor(clock: Clock, timeoutMs: number, what: string) {
    const pass = () => this.#whenCancelled?.(new Error(`${what}: no answer within ${timeoutMs / 1000} s`))
    this.#timer = clock.machine.setTimer(timeoutMs, pass, { background: true })
  }

  whenCancelled(callback: (error: Error) => void): void {
    this.#whenCancelled = callback
  }

  cancel(): void {
    this.#timer.cancel()
  }
}

/** Ends a watch whose server says nothing, or does not stop. */
class LateWatch {
  readonly #clock: Clock
  readonly #what: string
  readonly #late = new AbortController()
  #timer: Timer | undefined

  constructor(clock: Clock, what: string) {
    this.#clock = clock
    this.#what = what
  }

  get signal(): AbortSignal {
    return this.#late.signal
  }

  expect(otherwise: string, timeoutMs: number): void {
    this.cancel()
    const pass = () => this.#late.abort(new Error(`${this.#what}: ${otherwise} within ${timeoutMs / 1000} s`))
    this.#timer = this.#clock.machine.setTimer(timeoutMs, pass, { background: true })
  }

  /** Throws when it was ended: an answer of node:https that is aborted may end as if it were complete. */
  check(): void {
    this.signal.throwIfAborted()
  }

  cancel(): void {
    this.#timer?.cancel()
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const hasMetadata = (value: unknown): boolean => isObject(value) && isObject((value as KubeObject).metadata)

const VERSION = '"resourceVersion":"'
/** Returns undefined if the text has several: a label may have this name. In a string its quotes would be escaped. */
function onlyVersionIn(text: string): string | undefined {
  const at = text.indexOf(VERSION)
  if (at < 0 || text.includes(VERSION, at + 1)) return undefined
  const from = at + VERSION.length
  return text.slice(from, text.indexOf('"', from))
}

function answered<T>(text: string, what: string): T {
  const answer = objectIn(text)
  if (!answer) throw new Error(`${what}: the server's answer is not an object`)
  return answer as T
}

/** Returns undefined for any other text. */
function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function eventIn<T extends object>(line: string, what: string): WatchEvent<T> {
  const event = objectIn(line) as WatchEvent<T> | undefined
  const isEvent = event?.type === 'ERROR' ? isObject(event.object) : hasMetadata(event?.object)
  if (!event || !isEvent) throw new Error(`${what}: the server sent an invalid event: ${line.slice(0, 80)}`)
  return event
}

function metadataOf(object: object): { namespace?: string; name?: string } {
  return (object as { metadata?: { namespace?: string; name?: string } }).metadata ?? {}
}

async function readFailure({ body, ...head }: StreamedAnswer): Promise<StatusError> {
  const parts = new Gathered("the server's answer", maxAnswerBytes)
  for await (const part of body) parts.add(part)
  return failureOf({ ...head, body: parts.take().toString('utf8') })
}

/** Upstream shows this much of an answer that is not a Status. */
const maxShownText = 2048

function failureOf({ status, statusText, body }: PlainAnswer): StatusError {
  const told = objectIn(body)
  if (told) return statusError(told, status)
  return new StatusError({
    code: status,
    message: body.trim().slice(0, maxShownText) || statusText || `HTTP ${status}`,
  })
}

/** Returns the error of an answer that should be a Status, with the fields that are valid. */
function statusError(body: object, httpCode = 500): StatusError {
  const { kind, message, reason, details, code } = body as Record<keyof Status, unknown>
  if (kind !== 'Status')
    return new StatusError({ code: httpCode, message: JSON.stringify(body).slice(0, maxShownText) })
  const isFailure = Number.isInteger(code) && (code as number) >= 400 && (code as number) < 600
  return new StatusError({
    code: isFailure ? (code as number) : httpCode,
    message: typeof message === 'string' ? message : '',
    reason: typeof reason === 'string' ? reason : undefined,
    details: isObject(details) ? details : undefined,
  })
}
