/** The fields after a large field mostly fit in this space. */
const spareBytes = 256
const maxVarintBytes = 10

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

  /** Writes a whole number that is a JavaScript number. */
  int(number: number, value: number): void {
    this.#tag(number, 0)
    if (value < 0) this.#varint(BigInt.asUintN(64, BigInt(value)))
    else this.#size(value)
  }

  double(number: number, value: number): void {
    this.#tag(number, 1)
    this.#room(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  part(number: number, value: Buffer | string): void {
    const size = Buffer.byteLength(value)
    this.#tag(number, 2)
    this.#size(size)
    this.#room(size)
    if (typeof value === 'string') this.#bytes.write(value, this.#length, size)
    else value.copy(this.#bytes, this.#length)
    this.#length += size
  }

  /** Writes the tag and the length of a part of this many bytes, which the caller writes next. */
  length(number: number, bytes: number): void {
    this.#tag(number, 2)
    this.#size(bytes)
  }

  /** A message inside this one: `write` writes its fields, in place. */
  message(number: number, write: () => void): void {
    this.#tag(number, 2)
    this.#room(1)
    const start = ++this.#length
    write()
    const size = this.#length - start
    // Most lengths need more than the one byte that was left for them.
    const more = size > 0x7f ? Math.floor(Math.log2(size) / 7) : 0
    this.#room(maxVarintBytes)
    if (more > 0) this.#bytes.copyWithin(start + more, start, this.#length)
    this.#length = start - 1
    this.#size(size)
    this.#length += size
  }

  #tag(number: number, wire: number): void {
    this.#size(number * 8 + wire)
  }

  /** A number that is not negative. */
  #size(value: number): void {
    this.#room(maxVarintBytes)
    let rest = value
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  #varint(value: bigint): void {
    this.#room(maxVarintBytes)
    let rest = value
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#bytes[this.#length++] = Number(rest)
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes + spareBytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
