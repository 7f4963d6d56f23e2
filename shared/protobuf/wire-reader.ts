/** Bytes that are no protobuf message; worded as Go's generated code does. */
export class ProtobufError extends Error {}

export type WireType = 0 | 1 | 2 | 5

const isWireType = (wire: number): wire is WireType => wire <= 2 || wire === 5

/** Walks the fields of one message. */
export class WireReader {
  readonly #bytes: Buffer
  #at: number
  readonly #end: number
  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  get done(): boolean {
    return this.#at >= this.#end
  }

  /** Reads the next field's number and wire type. */
  tag(message: string): { number: number; wire: WireType } {
    const first = this.#at < this.#end ? this.#bytes[this.#at]! : 0
    // A valid tag of one byte, the most frequent case, needs no BigInt.
    if (first >= 8 && first < 0x80 && isWireType(first & 7)) {
      this.#at++
      return { number: first >> 3, wire: (first & 7) as WireType }
    }
    const tag = this.varint()
    const number = Number(tag >> 3n)
    const wire = Number(tag & 7n)
    if (wire === 4) throw new ProtobufError(`proto: ${message}: wiretype end group for non-group`)
    if (wire === 3 || wire > 5) throw new ProtobufError(`proto: illegal wireType ${wire}`)
    if (number <= 0 || number > 0x1fffffff) {
      throw new ProtobufError(`proto: ${message}: illegal tag ${BigInt.asIntN(32, tag >> 3n)} (wire type ${tag})`)
    }
    return { number, wire: wire as WireType }
  }

  varint(): bigint {
    // One to seven bytes fit a double: the common case needs no BigInt arithmetic.
    let low = 0
    let factor = 1
    for (let index = 0; index < 7; index++) {
      const byte = this.#byte()
      low += (byte & 0x7f) * factor
      if (byte < 0x80) return BigInt(low)
      factor *= 128
    }
    let value = BigInt(low)
    for (let shift = 49n; shift < 64n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new ProtobufError('proto: integer overflow')
  }

  /** A varint as Go's int64 has it; beyond 2⁵³ − 1 it is rounded. */
  int(): number {
    const from = this.#at
    let low = 0
    let factor = 1
    for (let index = 0; index < 7; index++) {
      const byte = this.#byte()
      low += (byte & 0x7f) * factor
      if (byte < 0x80) return low
      factor *= 128
    }
    this.#at = from
    return Number(BigInt.asIntN(64, this.varint()))
  }

  double(): number {
    const at = this.#skip(8)
    return this.#bytes.readDoubleLE(at)
  }

  /** A length-delimited field: its part of the bytes, not copied. */
  bytes(): Buffer {
    const { at, end } = this.#part()
    return this.#bytes.subarray(at, end)
  }

  /** Reads a length-delimited field as text. */
  text(): string {
    const { at, end } = this.#part()
    return this.#bytes.toString('utf8', at, end)
  }

  /** Returns a reader of a length-delimited field that is a message. It must be read before this reader goes on. */
  message(): WireReader {
    const { at, end } = this.#part()
    return new WireReader(this.#bytes, at, end)
  }

  skip(wire: WireType): void {
    if (wire === 0) this.varint()
    else if (wire === 1) this.#skip(8)
    else if (wire === 5) this.#skip(4)
    else this.bytes()
  }

  #part(): { at: number; end: number } {
    const length = this.int()
    if (length < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    const at = this.#skip(length)
    return { at, end: at + length }
  }

  #byte(): number {
    return this.#bytes[this.#skip(1)]!
  }

  #skip(length: number): number {
    const at = this.#at
    if (at + length > this.#end) throw new ProtobufError('unexpected EOF')
    this.#at = at + length
    return at
  }
}
