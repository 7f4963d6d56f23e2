import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../clock/clock.ts'

/** Describes one request independently of the version of HTTP. */
export interface PlainRequest {
  method: string
  /** Holds the path with its query. */
  path: string
  contentType?: string
  body?: string
  /** The body of a success is not wanted. */
  unread?: boolean
}
export interface PlainAnswer {
  status: number
  /** Holds the text of the status; empty if there is none, as in HTTP/2. */
  statusText: string
  body: string
}
/** Lets a pending request be rejected. */
export interface Cancellation {
  /** Replaces what was to be called before. A method: see `Exchange.whenServed` (apiserver/http/exchange.ts). */
  whenCancelled(callback: (error: Error) => void): void
}
/** An answer that is read while it comes. */
export interface StreamedAnswer {
  status: number
  statusText: string
  body: AsyncIterable<Buffer>
}
export interface TransportOptions {
  /** Holds the machine's clock. */
  clock: Clock
  tls: ConnectionOptions & { keepAliveMsecs: number }
  authority: string
  /** Headers of every request. */
  headers: Record<string, string>
  /** The number of requests at the same time; streams are not counted. */
  maxRequests: number
}
/** Carries requests to one server, and answers back. */
export interface Transport {
  /** Rejects when the connection fails, or with the error of the cancellation. */
  request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer>
  /**
   * A GET whose answer goes on; resolves with its head. Rejects when the connection fails, or when the signal aborts,
   * as does the body.
   */
  stream(path: string, signal: AbortSignal): Promise<StreamedAnswer>
  /** Closes its connections when what was asked by them is answered. */
  retire(): void
  close(): void
}

/** A kept connection was closed by the server just as it was written to. */
export class StaleConnectionError extends Error {
  /** The server has said that it did nothing; otherwise it perhaps has. */
  readonly isUntouched: boolean
  constructor(message: string, options: ErrorOptions & { isUntouched?: boolean } = {}) {
    super(message, options)
    this.isUntouched = options.isUntouched ?? false
  }
}

/** A request that may be sent again, to another server or by another connection: it was never processed. */
export const untouched = (cause: Error | undefined): StaleConnectionError =>
  new StaleConnectionError('the server takes no more requests on this connection', { cause, isUntouched: true })

/** The server wants to speak HTTP/1.1. Nothing was asked of it. */
export class NoHttp2Error extends Error {}
