/**
 * Bytes that come in pieces, copied into one buffer: a piece of one byte takes one byte of memory, and no piece is
 * copied twice as it grows.
 */
export class Gathered {
  #buffer = Buffer.alloc(0)
  #length = 0
  readonly #most: number
  readonly #what: string

  /** `what`: names, in the error, what grew beyond `most` bytes. */
  constructor(what: string, most: number) {
    this.#what = what
    this.#most = most
  }

  get length(): number {
    return this.#length
  }

  /** The piece may be overwritten afterwards. Throws when it is too much. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length
    if (length > this.#most) throw tooLarge(this.#what, this.#most)
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, Math.min(this.#most, 2 * this.#buffer.length)))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    this.#buffer.set(piece, this.#length)
    this.#length = length
  }

  /** Returns everything that was gathered, as a view that is valid until the next piece, and empties the buffer. */
  take(): Buffer {
    const all = this.#buffer.subarray(0, this.#length)
    this.#buffer = Buffer.alloc(0)
    this.#length = 0
    return all
  }
}

export const tooLarge = (what: string, most: number): Error =>
  new Error(`${what} is larger than ${most >= 1024 * 1024 ? `${most / 1024 / 1024} MiB` : `${most / 1024} KiB`}`)
