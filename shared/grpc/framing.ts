const headBytes = 5

/** A message as it travels: one byte (not compressed), four of length, the message. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  message.copy(framed, headBytes)
  return framed
}

/** Cuts a stream of bytes into messages. Throws for one of more than `maxBytes`, and for one that is compressed. */
export class MessageReader {
  readonly #onMessage: (message: Buffer) => void
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #held = 0
  #needed = headBytes

  constructor(onMessage: (message: Buffer) => void, maxBytes = Number.POSITIVE_INFINITY) {
    this.#onMessage = onMessage
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#held += chunk.length
    if (this.#held < this.#needed) return
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    for (;;) {
      if (bytes.length >= headBytes) this.#check(bytes)
      this.#needed = bytes.length < headBytes ? headBytes : headBytes + bytes.readUInt32BE(1)
      if (bytes.length < this.#needed) break
      const message = bytes.subarray(headBytes, this.#needed)
      bytes = bytes.subarray(this.#needed)
      this.#onMessage(message)
    }
    this.#chunks = bytes.length > 0 ? [bytes] : []
    this.#held = bytes.length
  }

  #check(head: Buffer): void {
    const length = head.readUInt32BE(1)
    if (head[0] !== 0) throw new Error('a message came compressed, which was not asked for')
    if (length > this.#maxBytes) throw new Error(`a message of ${length} bytes is larger than ${this.#maxBytes}`)
  }
}
