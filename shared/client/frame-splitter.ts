import { defaultMaxFrameSize, Flag, frameHeaderBytes } from '../http2/protocol.ts'

export interface FrameHead {
  type: number
  flags: number
  /** Of the stream; 0 for the connection. */
  id: number
}

/** Cuts what comes from an HTTP/2 server, in whatever pieces, into frames. The payload is a view of what came. */
export class FrameSplitter {
  readonly #onFrame: (head: FrameHead, payload: Buffer) => void
  #unread: Buffer | undefined

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
      this.#onFrame(head, bytes.subarray(at + frameHeaderBytes, end))
      at = end
    }
    // What is only looked at now is another's soon.
    this.#unread = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at))
  }
}

/** The payload of a DATA or HEADERS frame without padding and priority. */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  const padding = flags & Flag.padded ? (payload[0] ?? 0) : 0
  const from = (flags & Flag.padded ? 1 : 0) + (flags & Flag.priority ? 5 : 0)
  if (from + padding > payload.length) throw new Error('the server sent a frame with more padding than payload')
  return payload.subarray(from, payload.length - padding)
}
