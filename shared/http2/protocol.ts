/** The numbers of RFC 9113 that we need. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
export const frameHeaderBytes = 9
/** Each side begins with this window until a setting changes it. Kubestage's side never changes it. */
export const defaultWindow = 65_535
export const defaultMaxFrameSize = 16_384
export const maxWindow = 2 ** 31 - 1

/** The other side broke a rule that the whole connection rests on: it ends, after a GOAWAY with this code. */
export class ConnectionError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Says that one stream broke a rule. The stream ends with this code; the others go on. */
export class StreamError extends Error {
  readonly code: ErrorCode
  readonly streamId: number
  constructor(code: ErrorCode, streamId: number, message: string) {
    super(message)
    this.code = code
    this.streamId = streamId
  }
}

/** These fields belong to HTTP/1.1 only (RFC 9113, 8.2.2). */
export const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])
