import type { Socket } from 'node:net'

/** Names the kinds of frames. Heads are JSON; bodies are bytes of values, whose lengths are in the head. */
export const frameTypes = {
  /** Member: `Hello`. */
  hello: 1,
  /** Holder: the state that follows replaces all that the member has; the head is its revision. */
  state: 2,
  /** Holder: `ChangeHead[]`, of the state or of what happened after it. */
  changes: 3,
  /** Holder: the revision up to which all is told. */
  caughtUp: 4,
  /** Member: `WriteHead`, then the parts of the value. */
  write: 5,
  /** Holder: `ResultHead`. */
  result: 6,
  /** Member: the revision below which history is forgotten. */
  compact: 7,
  /** Either: a question, `AskHead`. */
  ask: 8,
  /** Either: `AnswerHead`. */
  answer: 9,
} as const

export type FrameType = (typeof frameTypes)[keyof typeof frameTypes]

export interface Frame {
  type: FrameType
  head: unknown
  body: Buffer
}

/** Length of what follows (4 bytes), and the type. */
const prefixBytes = 5
/** No object is larger. */
const maxFrameBytes = 1024 * 1024 * 1024
/** Frames of this size at most are copied into one buffer. */
const maxCopiedBytes = 256 * 1024
const newline = 10

/** Returns a frame in the parts that are written to a socket; they may be written to several. */
export function encodeFrame(type: FrameType, head: unknown, bodies: readonly Buffer[] = []): Buffer[] {
  const text = `${JSON.stringify(head)}\n`
  const headBytes = Buffer.byteLength(text)
  let length = 1 + headBytes
  for (const body of bodies) length += body.length
  const first = Buffer.allocUnsafe(prefixBytes + headBytes)
  first.writeUInt32LE(length)
  first[4] = type
  first.write(text, prefixBytes)
  return [first, ...bodies]
}

/** Cuts what a socket receives into frames. */
export class FrameReader {
  #chunks: Buffer[] = []
  #bytes = 0
  #wanted = prefixBytes

  /** Throws an Error for a frame that is too large, and a SyntaxError for a head that is no JSON. */
  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#wanted) return frames
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    let at = 0
    this.#wanted = prefixBytes
    while (all.length - at >= prefixBytes) {
      const length = all.readUInt32LE(at)
      if (length > maxFrameBytes) throw new Error(`a frame of ${length} bytes is too large`)
      const end = at + prefixBytes - 1 + length
      if (end > all.length) {
        this.#wanted = end - at
        break
      }
      const type = all[at + 4] as FrameType
      const start = at + prefixBytes
      const headEnd = all.indexOf(newline, start)
      const head = JSON.parse(all.toString('utf8', start, headEnd)) as unknown
      frames.push({ type, head, body: all.subarray(headEnd + 1, end) })
      at = end
    }
    this.#chunks = at < all.length ? [all.subarray(at)] : []
    this.#bytes = all.length - at
    return frames
  }
}

/** Writes frames to a socket: all of one turn of the event loop together. */
export class FrameWriter {
  readonly #socket: Socket
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Returns how many bytes have not left this process. */
  get unsentBytes(): number {
    return this.#bytes + this.#socket.writableLength
  }

  write(frame: readonly Buffer[]): void {
    if (this.#chunks.length === 0) setImmediate(() => this.flush())
    for (const chunk of frame) {
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
    }
  }

  flush(): void {
    const [chunks, bytes, socket] = [this.#chunks, this.#bytes, this.#socket]
    this.#chunks = []
    this.#bytes = 0
    if (chunks.length === 0 || socket.destroyed) return
    if (bytes <= maxCopiedBytes) {
      socket.write(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes))
      return
    }
    socket.cork()
    for (const chunk of chunks) socket.write(chunk)
    socket.uncork()
  }
}
