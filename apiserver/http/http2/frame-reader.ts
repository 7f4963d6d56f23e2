import {
  ConnectionError,
  defaultMaxFrameSize,
  ErrorCode,
  frameHeaderBytes,
  preface,
} from '../../../shared/http2/protocol.ts'

/** `payload` is a view of what arrived. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => void

/** Cuts what arrives, in whatever pieces, into frames. Throws a {@link ConnectionError} for what cannot be one. */
export class FrameReader {
  readonly #onFrame: OnFrame
  #rest: Buffer | undefined
  #prefaceRead = false

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = undefined
    let at = 0
    if (!this.#prefaceRead) {
      const there = Math.min(bytes.length, preface.length)
      if (preface.compare(bytes, 0, there, 0, there) !== 0) {
        throw new ConnectionError(ErrorCode.protocolError, 'no connection preface')
      }
      if (there < preface.length) {
        this.#rest = bytes
        return
      }
      this.#prefaceRead = true
      at = preface.length
    }
    while (bytes.length - at >= frameHeaderBytes) {
      const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
      if (length > defaultMaxFrameSize) {
        throw new ConnectionError(ErrorCode.frameSizeError, `a frame of ${length} bytes`)
      }
      const end = at + frameHeaderBytes + length
      if (end > bytes.length) break
      const streamId = bytes.readUInt32BE(at + 5) & 0x7fffffff
      this.#onFrame(bytes[at + 3]!, bytes[at + 4]!, streamId, bytes.subarray(at + frameHeaderBytes, end))
      at = end
    }
    if (at < bytes.length) this.#rest = at === 0 ? bytes : bytes.subarray(at)
  }
}
