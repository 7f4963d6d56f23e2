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
