import { cutFrames, type OnFrame } from '../../http2/frames.ts'
import { Flag, FrameType } from '../../http2/protocol.ts'
import { Gathered } from '../gathered.ts'
import { maxHeadBytes } from '../limits.ts'

export interface FrameHead {
  type: number
  flags: number
  /** Holds the ID of the stream; 0 for the connection. */
  id: number
}

const tooLarge = (length: number): Error => new Error(`the server sent a frame of ${length} bytes`)

/**
 * Cuts what comes from an HTTP/2 server, in whatever pieces, into frames; a head is told of when it is whole. The
 * payload is a view of what came.
 */
export class FrameSplitter {
  readonly #onFrame: (head: FrameHead, payload: Buffer) => void
  #unread: Buffer | undefined
  /** The frame whose CONTINUATION is still to come. */
  #begun: FrameHead | undefined
  readonly #parts = new Gathered("the head of the server's answer", maxHeadBytes)

  readonly #onCut: OnFrame = (type, flags, id, payload) => this.#take({ type, flags, id }, payload)

  constructor(onFrame: (head: FrameHead, payload: Buffer) => void) {
    this.#onFrame = onFrame
  }

  /** Throws for a frame or a head that is larger than we allow, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    const bytes = this.#unread ? Buffer.concat([this.#unread, chunk]) : chunk
    const at = cutFrames(bytes, 0, this.#onCut, tooLarge)
    // The rest is copied, because the chunk's buffer will be reused.
    this.#unread = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at))
  }

  #take(head: FrameHead, payload: Buffer): void {
    const isContinuation = head.type === FrameType.continuation
    if (this.#begun && (!isContinuation || this.#begun.id !== head.id))
      throw new Error('the server broke a head off in the middle')
    if (!this.#begun && isContinuation) throw new Error('the server went on with a head that it did not begin')
    if (isContinuation || head.type === FrameType.headers) this.#takeHead(head, payload)
    else this.#onFrame(head, payload)
  }

  #takeHead(head: FrameHead, payload: Buffer): void {
    const part = this.#begun ? payload : withoutPadding(head.flags, payload)
    const begun = this.#begun ?? head
    if (this.#begun && part.length === 0) throw new Error('the server sent an empty part of a head')
    const isWhole = (head.flags & Flag.endHeaders) !== 0
    this.#begun = isWhole ? undefined : begun
    if (isWhole && this.#parts.length === 0) {
      this.#onFrame(begun, part)
      return
    }
    this.#parts.add(part)
    if (isWhole) this.#onFrame(begun, this.#parts.take())
  }
}

/** The payload of a DATA or HEADERS frame without padding and priority. */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  const padding = flags & Flag.padded ? (payload[0] ?? 0) : 0
  const from = (flags & Flag.padded ? 1 : 0) + (flags & Flag.priority ? 5 : 0)
  if (from + padding > payload.length) throw new Error('the server sent a frame with more padding than payload')
  return payload.subarray(from, payload.length - padding)
}
