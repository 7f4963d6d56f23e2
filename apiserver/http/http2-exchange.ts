import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { IncomingHttpHeaders as Http2Headers, ServerHttp2Stream } from 'node:http2'

type Listener = (...args: unknown[]) => void

/** What handlers use of an IncomingMessage, straight from an HTTP/2 stream: Node's own compatibility layer takes a third of a small request's time. */
export class Http2Request {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  readonly method: string
  readonly url: string

  constructor(stream: ServerHttp2Stream, headers: Http2Headers) {
    this.stream = stream
    this.headers = headers
    this.method = headers[':method'] ?? 'GET'
    this.url = headers[':path'] ?? '/'
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener)
    return this
  }

  removeAllListeners(event: string): this {
    this.stream.removeAllListeners(event)
    return this
  }

  resume(): this {
    this.stream.resume()
    return this
  }
}

/** What handlers, and pipes into it, use of a ServerResponse. */
export class Http2Response {
  readonly stream: ServerHttp2Stream
  statusCode = 200

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream
  }

  get headersSent(): boolean {
    return this.stream.headersSent
  }
  get destroyed(): boolean {
    return this.stream.destroyed
  }
  get writable(): boolean {
    return this.stream.writable
  }
  get writableLength(): number {
    return this.stream.writableLength
  }
  get writableNeedDrain(): boolean {
    return this.stream.writableNeedDrain
  }

  /** A stream that the client has reset takes no answer. */
  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    if (!this.stream.destroyed && !this.stream.closed) this.stream.respond({ ...headers, ':status': status })
    return this
  }

  /** The head has left with writeHead. */
  flushHeaders(): void {}

  write(chunk: string | Uint8Array): boolean {
    return this.stream.destroyed || this.stream.write(chunk)
  }

  end(chunk?: string | Uint8Array): this {
    if (this.stream.destroyed) return this
    if (chunk === undefined) this.stream.end()
    else this.stream.end(chunk)
    return this
  }

  destroy(error?: Error): this {
    this.stream.destroy(error)
    return this
  }

  on(event: string, listener: Listener): this {
    this.stream.on(event, listener)
    return this
  }
  once(event: string, listener: Listener): this {
    this.stream.once(event, listener)
    return this
  }
  off(event: string, listener: Listener): this {
    this.stream.off(event, listener)
    return this
  }
  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener)
  }
  prependListener(event: string, listener: Listener): this {
    this.stream.prependListener(event, listener)
    return this
  }
  listenerCount(event: string): number {
    return this.stream.listenerCount(event)
  }
  emit(event: string, ...args: unknown[]): boolean {
    return this.stream.emit(event, ...args)
  }
}
