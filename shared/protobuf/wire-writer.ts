/** Writes the fields of one message. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(256)
  #length = 0

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** A whole number; negative ones take ten bytes, as in Go. */
  varint(number: number, value: bigint): void {
    this.#tag(number, 0)
    this.#varint(BigInt.asUintN(64, value))
  }

  double(number: number, value: number): void {
    this.#tag(number, 1)
    this.#room(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  part(number: number, value: Buffer | string): void {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    this.#tag(number, 2)
    this.#varint(BigInt(bytes.length))
    this.#room(bytes.length)
    this.#length += bytes.copy(this.#bytes, this.#length)
  }

  #tag(number: number, wire: number): void {
    this.#varint(BigInt(number * 8 + wire))
  }

  #varint(value: bigint): void {
    this.#room(10)
    let rest = value
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#bytes[this.#length++] = Number(rest)
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
