import { WireReader } from '../../../shared/protobuf/wire-reader.ts'
import { WireWriter } from '../../../shared/protobuf/wire-writer.ts'
import { type Draft, type Message, type MessageName, messages } from './messages.ts'

interface Field {
  number: number
  name: string
  /** Names the message, or the form of a plain value. */
  kind: string
  isRepeated: boolean
}
interface Layout {
  fields: readonly Field[]
  byNumber: ReadonlyMap<number, Field>
}

const layouts = new Map<string, Layout>(Object.entries(messages).map(([name, table]) => [name, layoutOf(table)]))

function layoutOf(table: Readonly<Record<number, string>>): Layout {
  const fields = Object.entries(table).map(([number, text]): Field => {
    const [name = '', kind = ''] = text.split(' ')
    return { number: Number(number), name, kind: kind.replace('[]', ''), isRepeated: kind.endsWith('[]') }
  })
  return { fields, byNumber: new Map(fields.map((field) => [field.number, field])) }
}

export function encode<Name extends MessageName>(name: Name, draft: Draft<Name>): Buffer {
  const writer = new WireWriter()
  writeFields(writer, name, draft)
  return writer.bytes()
}

function writeFields(writer: WireWriter, name: string, draft: object): void {
  for (const field of layouts.get(name)!.fields) {
    const value = (draft as Readonly<Record<string, unknown>>)[field.name]
    if (value === undefined) continue
    for (const item of field.isRepeated ? (value as unknown[]) : [value]) writeField(writer, field, item)
  }
}

function writeField(writer: WireWriter, { number, kind }: Field, value: unknown): void {
  if (kind === 'text') writer.part(number, value as string)
  else if (kind === 'int') writer.int(number, value as number)
  else if (kind === 'id') writer.varint(number, BigInt(value as string))
  else if (kind === 'bool') writer.int(number, value ? 1 : 0)
  else writer.message(number, () => writeFields(writer, kind, value as object))
}

/** Throws ProtobufError for bytes that are no such message. */
export function decode<Name extends MessageName>(name: Name, bytes: Buffer): Message<Name> {
  return readFields(name, new WireReader(bytes)) as Message<Name>
}

function readFields(name: string, reader: WireReader): Record<string, unknown> {
  const { fields, byNumber } = layouts.get(name)!
  const message: Record<string, unknown> = {}
  for (const { name, kind, isRepeated } of fields) message[name] = isRepeated ? [] : zeros[kind]
  while (!reader.done) {
    const { number, wire } = reader.tag(name)
    const field = byNumber.get(number)
    if (!field) {
      reader.skip(wire)
      continue
    }
    const value = readField(reader, field)
    if (field.isRepeated) (message[field.name] as unknown[]).push(value)
    else message[field.name] = value
  }
  return message
}

function readField(reader: WireReader, { kind }: Field): unknown {
  if (kind === 'text') return reader.text()
  if (kind === 'int') return reader.int()
  if (kind === 'id') return String(BigInt.asIntN(64, reader.varint()))
  if (kind === 'bool') return reader.int() !== 0
  return readFields(kind, reader.message())
}

const zeros: Readonly<Record<string, unknown>> = { text: '', int: 0, id: '0', bool: false }
