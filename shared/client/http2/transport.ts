import { Http1Transport } from '../http1-transport.ts'
import {
  type Cancellation,
  NoHttp2Error,
  type PlainAnswer,
  type PlainRequest,
  type StreamedAnswer,
  type Transport,
  type TransportOptions,
} from '../transport.ts'
import { Http2Connection } from './connection.ts'

/**
 * Everything on one HTTP/2 connection; HTTP/1.1 for a server that speaks nothing else, which the first request finds
 * out.
 */
export class Http2Transport implements Transport {
  readonly #options: TransportOptions
  #current: Http2Connection | undefined
  readonly #open = new Set<Http2Connection>()
  #http1: Http1Transport | undefined

  constructor(options: TransportOptions) {
    this.#options = options
  }

  request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer> {
    return this.#by(
      (connection) => connection.request(request, cancellation),
      (http1) => http1.request(request, cancellation),
    )
  }

  stream(path: string, signal: AbortSignal): Promise<StreamedAnswer> {
    return this.#by(
      (connection) => connection.stream(path, signal),
      (http1) => http1.stream(path, signal),
    )
  }

  retire(): void {
    for (const connection of this.#open) connection.retire()
    this.#http1?.retire()
  }

  close(): void {
    for (const connection of this.#open) connection.destroy(new Error('the client is closed'))
    this.#http1?.close()
  }

  async #by<T>(http2: (connection: Http2Connection) => Promise<T>, http1: (transport: Http1Transport) => Promise<T>) {
    if (this.#http1) return http1(this.#http1)
    try {
      return await http2(this.#connection())
    } catch (error) {
      if (!(error instanceof NoHttp2Error)) throw error
      this.#http1 ??= new Http1Transport(this.#options)
      return http1(this.#http1)
    }
  }

  #connection(): Http2Connection {
    if (this.#current) return this.#current
    const connection = new Http2Connection({
      ...this.#options,
      onRetired: () => {
        if (this.#current === connection) this.#current = undefined
      },
      onClosed: () => this.#open.delete(connection),
    })
    this.#open.add(connection)
    this.#current = connection
    return connection
  }
}
