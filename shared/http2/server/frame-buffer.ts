import { Flag, FrameType, frameHeaderBytes } from '../protocol.ts'

const bytes = Buffer.allocUnsafeSlow(256 * 1024)

/**
 * Where frames are put together, one connection's at a time: what goes out in one turn of the event loop becomes one
 * write. One buffer serves all connections, because TLS has encrypted it when `write` returns.
 */
export class FrameBuffer {
  #at = 0

  get length(): number {
    return this.#at
  }
  /** The size of a payload that still fits, together with its frame's header. */
  get room(): number {
    return bytes.length - this.#at - frameHeaderBytes
  }

  clear(): void {
    this.#at = 0
  }

  /** Returns what was put together; valid until the next `clear`. */
  view(): Buffer {
    return bytes.subarray(0, this.#at)
  }

  begin(type: number, flags: number, streamId: number, length: number): void {
    const at = this.#at
    bytes[at] = length >> 16
    bytes[at + 1] = length >> 8
    bytes[at + 2] = length
    bytes[at + 3] = type
    bytes[at + 4] = flags
    bytes[at + 5] = streamId >> 24
    bytes[at + 6] = streamId >> 16
    bytes[at + 7] = streamId >> 8
    bytes[at + 8] = streamId
    this.#at = at + frameHeaderBytes
  }

  byte(value: number): void {
    bytes[this.#at++] = value
  }

  copy(source: Buffer, start: number, end: number): void {
    source.copy(bytes, this.#at, start, end)
    this.#at += end - start
  }

  /** Appends a text of ASCII characters only. */
  ascii(text: string): void {
    bytes.write(text, this.#at, text.length, 'latin1')
    this.#at += text.length
  }

  /** A head, in as many frames as it needs. */
  head(
    streamId: number,
    block: Buffer,
    { endStream, maxFrameSize }: { endStream: boolean; maxFrameSize: number },
  ): void {
    let at = 0
    do {
      const end = Math.min(block.length, at + maxFrameSize)
      const flags = (end === block.length ? Flag.endHeaders : 0) | (at === 0 && endStream ? Flag.endStream : 0)
      this.begin(at === 0 ? FrameType.headers : FrameType.continuation, flags, streamId, end - at)
      this.copy(block, at, end)
      at = end
    } while (at < block.length)
  }
}
