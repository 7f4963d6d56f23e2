import { ConnectionPool, type PoolOptions } from './connection-pool.ts'
import { Http2Connection, NoHttp2Error } from './http2-connection.ts'
import type { Cancellation, PlainAnswer, PlainRequest, Transport } from './transport.ts'

/** All requests on one HTTP/2 connection; HTTP/1.1 for a server that speaks nothing else, which the first request finds out. */
export class Http2Transport implements Transport {
  readonly #options: PoolOptions
  #current: Http2Connection | undefined
  readonly #open = new Set<Http2Connection>()
  #http1: ConnectionPool | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  async request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer> {
    if (this.#http1) return this.#http1.request(request, cancellation)
    try {
      return await this.#connection().request(request, cancellation)
    } catch (error) {
      if (!(error instanceof NoHttp2Error)) throw error
      this.#http1 ??= new ConnectionPool(this.#options)
      return this.#http1.request(request, cancellation)
    }
  }

  close(): void {
    for (const connection of this.#open) connection.destroy(new Error('the client is closed'))
    this.#http1?.close()
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
