import type { Http2Request } from './request.ts'
import type { Http2Response } from './response.ts'

/** A client may send this many bytes of one body before the server reads them. */
export const streamReceiveWindow = 256 * 1024
/** A client may send this many bytes of all its bodies before the server reads them. */
export const connectionReceiveWindow = 4 * 1024 * 1024

/** Holds one request, its answer, and what the client may still send. */
export interface ServerStream {
  readonly id: number
  readonly request: Http2Request
  readonly response: Http2Response
  /** The time at which its first frame came, on the connection's clock. */
  readonly openedMs: number
  /** The request is complete. */
  remoteEnded: boolean
  /** The part of the announced content-length that has not arrived; negative if none was announced. */
  bodyLeft: number
  receiveWindow: number
  /** Bytes that were read since the client was last told. */
  unannounced: number
}
