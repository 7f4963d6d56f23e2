import { defaultMaxFrameSize, Flag, FrameType, frameHeaderBytes } from '../http2/protocol.ts'

export interface FrameHead {
  type: number
  flags: number
  /** Of the stream; 0 for the connection. */
  id: number
}

/** Cuts what comes from an HTTP/2 server, in whatever pieces, into frames; a head is told of when it is whole. The payload is a view of what came. */
export class FrameSplitter {
  readonly #onFrame: (head: FrameHead, payload: Buffer) => void
  #unread: Buffer | undefined
  /** Whose CONTINUATION is still to come. */
  #head: { head: FrameHead; parts: Buffer[] } | undefined

  constructor(onFrame: (head: FrameHead, payload: Buffer) => void) {
    this.#onFrame = onFrame
  }

  /** Throws for a frame that is larger than we allow, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    const bytes = this.#unread ? Buffer.concat([this.#unread, chunk]) : chunk
    let at = 0
    while (bytes.length - at >= frameHeaderBytes) {
      const length = bytes.readUIntBE(at, 3)
      if (length > defaultMaxFrameSize) throw new Error(`the server sent a frame of ${length} bytes`)
      const end = at + frameHeaderBytes + length
      if (end > bytes.length) break
      const head = { type: bytes[at + 3]!, flags: bytes[at + 4]!, id: bytes.readUInt32BE(at + 5) & 0x7fffffff }
      this.#take(head, bytes.subarray(at + frameHeaderBytes, end))
      at = end
    }
    // What is only looked at now is another's soon.
    this.#unread = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at))
  }

  #take(head: FrameHead, payload: Buffer): void {
    const isHead = head.type === FrameType.headers
    if (!isHead && head.type !== FrameType.continuation) {
      this.#onFrame(head, payload)
      return
    }
    const begun = isHead ? { head, parts: [] } : this.#head
    const part = isHead ? withoutPadding(head.flags, payload) : payload
    if (!begun) throw new Error('the server went on with a head that it did not begin')
    const isWhole = (head.flags & Flag.endHeaders) !== 0
    if (isWhole) this.#onFrame(begun.head, begun.parts.length === 0 ? part : Buffer.concat([...begun.parts, part]))
    else begun.parts.push(Buffer.from(part))
    this.#head = isWhole ? undefined : begun
  }
}

/** The payload of a DATA or HEADERS frame without padding and priority. */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  const padding = flags & Flag.padded ? (payload[0] ?? 0) : 0
  const from = (flags & Flag.padded ? 1 : 0) + (flags & Flag.priority ? 5 : 0)
  if (from + padding > payload.length) throw new Error('the server sent a frame with more padding than payload')
  return payload.subarray(from, payload.length - padding)
}
