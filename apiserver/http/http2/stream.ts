import type { ErrorCode } from '../../../shared/http2/protocol.ts'
import type { Http2Request } from './request.ts'
import type { Http2Response } from './response.ts'

/** What a client may send of one body before somebody reads it. */
export const streamReceiveWindow = 256 * 1024
/** The same, of all its bodies. */
export const connectionReceiveWindow = 4 * 1024 * 1024

/** One request and its answer, and what the client may still send. */
export interface ServerStream {
  readonly id: number
  readonly request: Http2Request
  readonly response: Http2Response
  /** On the connection's clock. */
  readonly openedMs: number
  /** The request is complete. */
  remoteEnded: boolean
  /** What of the announced content-length has not come; negative: nothing was announced. */
  bodyLeft: number
  receiveWindow: number
  /** What was read since the client was last told. */
  unannounced: number
}

/** What requests and responses need of their connection. */
export interface StreamOwner {
  /** Of what we send. */
  readonly maxFrameSize: number
  /** A part of a request's body was taken. */
  consumed(id: number, bytes: number): void
  /** A response may have something to send. */
  ready(id: number): void
  /** A stream is to end at once. */
  reset(id: number, code: ErrorCode): void
  /** For the Date field. */
  date(): string
  /** What must stand before the next head. */
  headPrefix(): number | undefined
  headWritten(): void
}
