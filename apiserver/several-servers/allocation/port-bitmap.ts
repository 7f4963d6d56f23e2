/**
 * Holds the set of node ports in use, encoded as a real server does: bit 0 of byte 0 is the first port. Upstream:
 * pkg/registry/core/service/allocator/bitmap.go, whose bytes are those of a Go big.Int, the last first.
 */
export class PortBitmap {
  readonly #first: number
  readonly #bytes: Buffer

  /** `data`: as {@link PortBitmap.toString} gives it. Default: nothing is taken. */
  constructor({ first, last }: { first: number; last: number }, data = '') {
    this.#first = first
    this.#bytes = Buffer.alloc(Math.ceil((last - first + 1) / 8))
    const bytes = Buffer.from(data, 'base64').reverse()
    bytes.copy(this.#bytes, 0, 0, this.#bytes.length)
  }

  has(port: number): boolean {
    const bit = port - this.#first
    return ((this.#bytes[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }

  set(port: number, isTaken: boolean): void {
    const bit = port - this.#first
    const byte = this.#bytes[bit >> 3]
    if (byte === undefined) return
    this.#bytes[bit >> 3] = isTaken ? byte | (1 << (bit & 7)) : byte & ~(1 << (bit & 7))
  }

  /** Yields the ports that are taken, in order. */
  *[Symbol.iterator](): Generator<number> {
    for (let port = this.#first; port < this.#first + this.#bytes.length * 8; port++) if (this.has(port)) yield port
  }

  toString(): string {
    return Buffer.from(this.#bytes).reverse().toString('base64')
  }
}
