import { copyOf } from '../../memory/copy-of.ts'
import { ConnectionError, ErrorCode } from '../protocol.ts'
import { DynamicTable, type HeaderField, staticTable } from './header-tables.ts'
import { decodeHuffman } from './huffman.ts'

/** A client may use this size of the table: the default, which needs no setting. */
const tableBytes = 4096
const none = Buffer.alloc(0)

/** HPACK (RFC 7541) from the client: one for each connection, since every block builds on those before it. */
export class HeaderDecoder {
  readonly #table = new DynamicTable(tableBytes)
  #block: Buffer = none
  /**
   * The block as text, each byte a character, from the first field on that is not compressed: one copy, whatever is cut
   * from it.
   */
  #text: string | undefined
  #at = 0

  /**
   * The fields of a whole block, in order, to `onField`. Throws a {@link ConnectionError} for what is not HPACK:
   * nothing after it could be read.
   */
  decode(block: Buffer, onField: (field: HeaderField) => void): void {
    this.#block = block
    this.#at = 0
    let fields = 0
    while (this.#at < block.length) {
      const byte = block[this.#at]!
      if ((byte & 0xe0) === 0x20) {
        if (fields > 0) throw broken('a table size update after a field')
        this.#resize(this.#integer(5))
        continue
      }
      fields++
      if (byte & 0x80) onField(this.#indexed(this.#integer(7)))
      else if (byte & 0x40) this.#remember(this.#literal(6), onField)
      else onField(this.#literal(4))
    }
    this.#block = none
    this.#text = undefined
  }

  /** The table gets copies: a slice would keep the text of its block in memory. */
  #remember({ name, value }: HeaderField, onField: (field: HeaderField) => void): void {
    const field = { name: copyOf(name), value: copyOf(value) }
    this.#table.add(field)
    onField(field)
  }

  #resize(size: number): void {
    if (size > tableBytes) throw broken('a table larger than allowed')
    this.#table.resize(size)
  }

  #literal(prefixBits: number): HeaderField {
    const index = this.#integer(prefixBits)
    const name = index === 0 ? this.#string() : this.#indexed(index).name
    return { name, value: this.#string() }
  }

  #indexed(index: number): HeaderField {
    const field = index <= staticTable.length ? staticTable[index - 1] : this.#table.get(index - staticTable.length - 1)
    if (!field) throw broken('an unknown field number')
    return field
  }

  #string(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) & 0x80
    const length = this.#integer(7)
    const start = this.#at
    this.#at += length
    if (this.#at > this.#block.length) throw broken('a string that ends too early')
    if (!isHuffman) {
      this.#text ??= this.#block.toString('latin1')
      return this.#text.slice(start, this.#at)
    }
    const text = decodeHuffman(this.#block, start, this.#at)
    if (text === undefined) throw broken('a string that is no Huffman code')
    return text
  }

  /** The low `bits` of the next byte, and more bytes when they are all ones (RFC 7541, 5.1). */
  #integer(bits: number): number {
    if (this.#at >= this.#block.length) throw broken('a number that ends too early')
    const most = (1 << bits) - 1
    let value = this.#block[this.#at++]! & most
    if (value < most) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#block[this.#at++]
      if (byte === undefined) throw broken('a number that ends too early')
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw broken('a number that is too large')
  }
}

const broken = (what: string): ConnectionError => new ConnectionError(ErrorCode.compressionError, `HPACK: ${what}`)
