import { cutFrames, type OnFrame } from '../frames.ts'
import { ConnectionError, ErrorCode, preface } from '../protocol.ts'

const tooLarge = (length: number): ConnectionError =>
  new ConnectionError(ErrorCode.frameSizeError, `a frame of ${length} bytes`)

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
    at = cutFrames(bytes, at, this.#onFrame, tooLarge)
    if (at < bytes.length) this.#rest = at === 0 ? bytes : bytes.subarray(at)
  }
}
