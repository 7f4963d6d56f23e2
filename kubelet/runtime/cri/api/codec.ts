import { ProtobufError, WireReader, type WireType } from '../../../../shared/protobuf/wire-reader.ts'
import { WireWriter } from '../../../../shared/protobuf/wire-writer.ts'

/** Lists messages by name, each with its fields. See `messages.ts` for the types. */
export type MessageTable = Readonly<Record<string, Readonly<Record<string, readonly [number: number, type: string]>>>>
type Plain = Record<string, unknown>

/** No message of the table is nested deeper. */
const maxDepth = 20

export class Codec {
  readonly #table: MessageTable
  readonly #byNumber = new Map<string, Map<number, [field: string, type: string]>>()

  constructor(table: MessageTable) {
    this.#table = table
    for (const [name, fields] of Object.entries(table)) {
      const numbered = Object.entries(fields).map(([field, [number, type]]) => [number, [field, type]] as const)
      this.#byNumber.set(name, new Map(numbered.map(([number, [field, type]]) => [number, [field, type]])))
    }
  }

  encode(name: string, message: object): Buffer {
    const writer = new WireWriter()
    this.#writeFields(writer, name, message as Plain)
    return writer.bytes()
  }

  /** Throws a ProtobufError for what is no such message. */
  decode(name: string, bytes: Buffer): Plain {
    return this.#readFields(name, new WireReader(bytes), 0)
  }

  #writeFields(writer: WireWriter, name: string, message: Plain): void {
    for (const [field, [number, type]] of Object.entries(this.#table[name] ?? {})) {
      const value = message[field]
      if (value !== undefined) this.#write(writer, number, type, value)
    }
  }

  #write(writer: WireWriter, number: number, type: string, value: unknown): void {
    if (type.endsWith('[]')) {
      for (const item of value as unknown[]) this.#write(writer, number, type.slice(0, -2), item)
      return
    }
    switch (type) {
      case 'string':
      case 'bytes':
        writer.part(number, value as string | Buffer)
        return
      case 'bool':
        writer.int(number, value ? 1 : 0)
        return
      case 'int':
        writer.int(number, value as number)
        return
      case 'map':
        for (const [key, text] of Object.entries(value as Record<string, string>)) {
          writer.message(number, () => {
            writer.part(1, key)
            writer.part(2, text)
          })
        }
        return
      default:
        writer.message(number, () => this.#writeFields(writer, type, value as Plain))
    }
  }

  #readFields(name: string, reader: WireReader, depth: number): Plain {
    if (depth > maxDepth) throw new ProtobufError('proto: message nested too deeply')
    const message: Plain = {}
    for (const [field, [, type]] of Object.entries(this.#table[name] ?? {})) message[field] = zeroOf(type)
    const fields = this.#byNumber.get(name)
    while (!reader.done) {
      const { number, wire } = reader.tag(name)
      const [field, type] = fields?.get(number) ?? []
      if (field === undefined || type === undefined) reader.skip(wire)
      else if (type.endsWith('[]')) this.#readItems(message[field] as unknown[], type.slice(0, -2), wire, reader, depth)
      else if (type === 'map') readEntry(message[field] as Record<string, string>, wire, reader)
      else message[field] = this.#read(type, wire, reader, depth)
    }
    return message
  }

  #readItems(items: unknown[], type: string, wire: WireType, reader: WireReader, depth: number): void {
    if (type !== 'int' || wire !== 2) {
      items.push(this.#read(type, wire, reader, depth))
      return
    }
    const packed = reader.message()
    while (!packed.done) items.push(packed.int())
  }

  #read(type: string, wire: WireType, reader: WireReader, depth: number): unknown {
    const expected = type === 'int' || type === 'bool' ? 0 : 2
    if (wire !== expected) throw new ProtobufError(`proto: wrong wireType = ${wire} for a field of type ${type}`)
    switch (type) {
      case 'int':
        return reader.int()
      case 'bool':
        return reader.int() !== 0
      case 'string':
        return reader.text()
      case 'bytes':
        return Buffer.from(reader.bytes())
      default:
        return this.#readFields(type, reader.message(), depth + 1)
    }
  }
}

function readEntry(entries: Record<string, string>, wire: WireType, reader: WireReader): void {
  if (wire !== 2) throw new ProtobufError(`proto: wrong wireType = ${wire} for a field of type map`)
  const entry = reader.message()
  let [key, value] = ['', '']
  while (!entry.done) {
    const { number, wire } = entry.tag('Entry')
    if (number === 1 && wire === 2) key = entry.text()
    else if (number === 2 && wire === 2) value = entry.text()
    else entry.skip(wire)
  }
  // A plain assignment of this name would change the prototype.
  Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true })
}

function zeroOf(type: string): unknown {
  if (type.endsWith('[]')) return []
  switch (type) {
    case 'string':
      return ''
    case 'int':
      return 0
    case 'bool':
      return false
    case 'bytes':
      return Buffer.alloc(0)
    case 'map':
      return {}
    default:
      return undefined
  }
}
