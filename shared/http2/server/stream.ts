import type { Http2Request } from './request.ts'
import type { Http2Response } from './response.ts'

/** What a client may send of one body before it is read. */
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
