import { ConnectionError, ErrorCode, Flag, StreamError } from '../protocol.ts'

/** Names the limits of a server's connections as the API server's table does. */
export type Http2Limit =
  | 'uselessFrames'
  | 'requestHead'
  | 'requestReadTimeout'
  | 'http2MaxStreamsPerConnection'
  | 'http2MaxStreamsPerAnonymousConnection'

export const protocolError = (message: string): ConnectionError => new ConnectionError(ErrorCode.protocolError, message)

/** A client that makes more work than a limit allows. */
export class TooMuch extends ConnectionError {
  readonly limit: Http2Limit
  constructor(limit: Http2Limit, message: string) {
    super(ErrorCode.enhanceYourCalm, message)
    this.limit = limit
  }
}

export const calmDown = (message: string, limit: Http2Limit = 'uselessFrames'): TooMuch => new TooMuch(limit, message)

export const malformed = (streamId: number, message: string): StreamError =>
  new StreamError(ErrorCode.protocolError, streamId, message)

export function assertConnectionFrame(streamId: number): void {
  if (streamId !== 0) throw protocolError('a frame of the connection on a stream')
}

export function assertLength(payload: Buffer, length: number): void {
  if (payload.length !== length) {
    throw new ConnectionError(ErrorCode.frameSizeError, `${payload.length} bytes instead of ${length}`)
  }
}

/** The payload of a DATA or HEADERS frame without its padding. */
export function unpadded(flags: number, payload: Buffer): Buffer {
  if (!(flags & Flag.padded)) return payload
  const padding = payload[0]
  if (padding === undefined) throw new ConnectionError(ErrorCode.frameSizeError, 'no room for the padding')
  if (padding >= payload.length) throw protocolError('more padding than payload')
  return payload.subarray(1, payload.length - padding)
}

/**
 * Returns true if the payload of a PRIORITY frame, or of a HEADERS frame with that flag, makes the stream depend on
 * itself.
 */
export const dependsOnItself = (streamId: number, payload: Buffer): boolean =>
  (payload.readUInt32BE(0) & 0x7fffffff) === streamId
