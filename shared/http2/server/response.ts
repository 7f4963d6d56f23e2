import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import { encodeHead } from '../hpack/header-encoder.ts'
import { ErrorCode, Flag, FrameType, frameHeaderBytes } from '../protocol.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { StreamOwner } from './stream-owner.ts'

/** When a body has this many unsent bytes, its writers are asked to wait. */
const highWaterMark = 64 * 1024
/** A stream may add this much before the other streams have their turn. */
const turnBytes = 64 * 1024

/** A part of a body: text is ASCII only, so that each character is a byte. */
type Chunk = string | Buffer

/**
 * Implements the parts of ServerResponse that handlers, and pipes into it, use: `drain` when there is room again,
 * `finish` when everything was written, `close` when the stream is over for whatever reason.
 */
export class Http2Response extends EventEmitter {
  readonly #owner: StreamOwner
  readonly #streamId: number
  statusCode = 200
  headersSent = false
  destroyed = false
  /** Bytes written but not yet put on the wire. */
  writableLength = 0
  writableNeedDrain = false
  #head: OutgoingHttpHeaders | undefined
  /** Headers that the head gets in addition to those of writeHead. */
  #headers: OutgoingHttpHeaders | undefined
  #chunks: Chunk[] = []
  /** The number of bytes of the first chunk that were sent. */
  #sent = 0
  #ended = false
  #announced = false
  #complete = false
  /**
   * The number of bytes that the client still accepts on this stream; negative if the client has reduced its window
   * meanwhile.
   */
  window: number

  constructor(streamId: number, owner: StreamOwner, window: number) {
    super()
    this.#streamId = streamId
    this.#owner = owner
    this.window = window
  }

  get writable(): boolean {
    return !this.#ended && !this.destroyed
  }
  get writableEnded(): boolean {
    return this.#ended
  }
  /** The end of the answer is on its way. */
  get complete(): boolean {
    return this.#complete
  }
  /** True if the stream has something to send that its own window does not hold back. */
  get hasSendable(): boolean {
    if (this.#complete || this.destroyed) return false
    return this.#head !== undefined || (this.#chunks.length > 0 ? this.window > 0 : this.#ended)
  }

  /** True if everything that the stream could send now is a part of its body. */
  get needsWindow(): boolean {
    return this.#head === undefined && this.#chunks.length > 0
  }

  /** `name` in lower case, as all names here. */
  setHeader(name: string, value: OutgoingHttpHeader): this {
    this.#headers ??= {}
    this.#headers[name] = value
    return this
  }
  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.#headers?.[name]
  }
  getHeaders(): OutgoingHttpHeaders {
    return { ...this.#headers }
  }
  hasHeader(name: string): boolean {
    return this.#headers?.[name] !== undefined
  }
  removeHeader(name: string): void {
    if (this.#headers) delete this.#headers[name]
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    this.headersSent = true
    this.#head = this.#headers ? { ...this.#headers, ...headers } : headers
    this.#announce()
    return this
  }

  /** The head leaves with writeHead. */
  flushHeaders(): void {}

  /** `encoding`: with `latin1` each character of a text is one byte, which then need not be found out. */
  write(chunk: string | Uint8Array, encoding?: BufferEncoding): boolean {
    if (this.destroyed) return true
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#append(chunk, encoding)
    this.#announce()
    this.writableNeedDrain ||= this.writableLength >= highWaterMark
    return !this.writableNeedDrain
  }

  end(chunk?: string | Uint8Array | null): this {
    if (this.destroyed || this.#ended) return this
    if (chunk) this.#append(chunk)
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#ended = true
    this.#announce()
    return this
  }

  /** Cut off: the client sees an error, not an end. */
  destroy(_error?: Error): this {
    if (!this.destroyed && !this.#complete) this.#owner.reset(this.#streamId, ErrorCode.internalError)
    return this
  }

  /** The stream is over. */
  close(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#chunks = []
    this.writableLength = 0
    if (this.#complete) this.emit('finish')
    this.emit('close')
  }

  /** Says so when there is room again. */
  notifyDrained(): void {
    if (!this.writableNeedDrain || this.writableLength >= highWaterMark) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  /**
   * Puts what may be sent now into `out`, and says how much of the connection's window that takes; undefined when there
   * was no room.
   */
  fill(out: FrameBuffer, connectionWindow: number): number | undefined {
    this.#announced = false
    if (this.#head && !this.#fillHead(out, this.#head)) return undefined
    const limit = Math.min(connectionWindow, this.window, turnBytes)
    let taken = 0
    while (!this.#complete && this.#chunks.length > 0 && taken < limit && out.room > 0) {
      taken += this.#fillData(out, limit - taken)
    }
    this.window -= taken
    if (this.#ended && !this.#complete && this.#chunks.length === 0 && out.room > 0) {
      out.begin(FrameType.data, Flag.endStream, this.#streamId, 0)
      this.#complete = true
    }
    return taken
  }

  /** Tells the owner that the stream has something to send, once until the next {@link fill} is enough. */
  #announce(): void {
    if (this.#announced) return
    this.#announced = true
    this.#owner.ready(this.#streamId)
  }

  #append(chunk: string | Uint8Array, encoding?: BufferEncoding): void {
    if (chunk.length === 0) return
    const part = typeof chunk !== 'string' ? asBuffer(chunk) : encoding === 'latin1' ? chunk : asChunk(chunk)
    this.#chunks.push(part)
    this.writableLength += part.length
  }

  #fillHead(out: FrameBuffer, head: OutgoingHttpHeaders): boolean {
    const { maxFrameSize } = this.#owner
    const block = encodeHead(this.statusCode, head, { date: this.#owner.date(), prefix: this.#owner.headPrefix() })
    if (block.length + frameHeaderBytes * (1 + block.length / maxFrameSize) > out.room) {
      if (out.length === 0) this.#owner.reset(this.#streamId, ErrorCode.internalError)
      return false
    }
    const endStream = this.#ended && this.#chunks.length === 0
    out.head(this.#streamId, block, { endStream, maxFrameSize })
    this.#owner.headWritten()
    this.#head = undefined
    this.#complete = endStream
    return true
  }

  /** Writes one frame of at most `limit` bytes, from as many chunks as fit. */
  #fillData(out: FrameBuffer, limit: number): number {
    const length = Math.min(this.writableLength, limit, this.#owner.maxFrameSize, out.room)
    this.writableLength -= length
    this.#complete = this.#ended && this.writableLength === 0
    out.begin(FrameType.data, this.#complete ? Flag.endStream : 0, this.#streamId, length)
    for (let left = length; left > 0; ) left -= this.#takeChunk(out, left)
    return length
  }

  /** Takes at most `most` bytes of the first chunk. */
  #takeChunk(out: FrameBuffer, most: number): number {
    const chunk = this.#chunks[0]!
    const start = this.#sent
    const end = Math.min(chunk.length, start + most)
    const isLastOfChunk = end === chunk.length
    if (typeof chunk !== 'string') out.copy(chunk, start, end)
    else out.ascii(start === 0 && isLastOfChunk ? chunk : chunk.slice(start, end))
    this.#sent = isLastOfChunk ? 0 : end
    if (isLastOfChunk) this.#chunks.shift()
    return end - start
  }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** A text is kept as it is when its bytes are its characters. */
const asChunk = (text: string): Chunk => (Buffer.byteLength(text) === text.length ? text : Buffer.from(text))
