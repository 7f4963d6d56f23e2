const headBytes = 5

/** A message as it travels: one byte (not compressed), four of length, the message. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  message.copy(framed, headBytes)
  return framed
}

/** Cuts a stream of bytes into messages. */
export class MessageReader {
  readonly #onMessage: (message: Buffer) => void
  #chunks: Buffer[] = []
  #held = 0
  #needed = headBytes

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#held += chunk.length
    if (this.#held < this.#needed) return
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    for (;;) {
      this.#needed = bytes.length < headBytes ? headBytes : headBytes + bytes.readUInt32BE(1)
      if (bytes.length < this.#needed) break
      const message = bytes.subarray(headBytes, this.#needed)
      bytes = bytes.subarray(this.#needed)
      this.#onMessage(message)
    }
    this.#chunks = bytes.length > 0 ? [bytes] : []
    this.#held = bytes.length
  }
}
