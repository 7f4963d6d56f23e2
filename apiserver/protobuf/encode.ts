/** Objects as Go clients read them that take no JSON: the table of messages, the other way round. */
import { toJson } from '../../shared/api/json/exact-json.ts'
import { WireWriter } from '../../shared/protobuf/wire-writer.ts'
import { isMap, type JsonMap } from '../values/json-map.ts'
import { type FieldType, type Message, message, messageOfKind } from './messages.ts'

const prefix = Buffer.from('k8s\0')
const jsonSchema = 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps'

/** The envelope with the object in it; undefined for a kind that has no protobuf form. */
export function encodeProtobuf(object: JsonMap): Buffer | undefined {
  const { apiVersion, kind, ...rest } = object as JsonMap & { apiVersion?: string; kind?: string }
  const name = messageOfKind(apiVersion ?? 'v1', kind ?? '')
  if (!name) return undefined
  const raw = new WireWriter()
  raw.part(2, encodeMessage(name, rest))
  return Buffer.concat([envelopeHead({ apiVersion, kind }), raw.bytes(), envelopeEnd])
}

/** Encodes the part of the envelope before the object: the prefix and the object's type. */
export function envelopeHead({ apiVersion = '', kind = '' }: { apiVersion?: string; kind?: string }): Buffer {
  const type = new WireWriter()
  type.part(1, apiVersion)
  type.part(2, kind)
  const head = new WireWriter()
  head.part(1, type.bytes())
  return Buffer.concat([prefix, head.bytes()])
}

/** Two texts that are empty: the encoding and the type of the content. */
export const envelopeEnd = Buffer.from([0x1a, 0, 0x22, 0])

/** An event of a watch as it is framed: its length in four bytes, and then the event with the object's envelope. */
export function encodeWatchEvent(type: string, object: JsonMap): Buffer | undefined {
  const raw = encodeProtobuf(object)
  if (!raw) return undefined
  const extension = new WireWriter()
  extension.part(1, raw)
  const event = new WireWriter()
  event.part(1, type)
  event.part(2, extension.bytes())
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.bytes().length)
  return Buffer.concat([length, event.bytes()])
}

export function encodeMessage(name: string, object: JsonMap): Buffer {
  const writer = new WireWriter()
  writeFields(writer, message(name), object)
  return writer.bytes()
}

function writeFields(writer: WireWriter, fields: Message, object: JsonMap): void {
  for (const [number, { name, type }] of [...fields].sort(([a], [b]) => a - b)) {
    // Its fields stand in the parent.
    if (name === '' && type.form === 'message') writer.part(number, encodeMessage(type.message!, object))
    else if (Object.hasOwn(object, name)) writeField(writer, number, type, object[name])
  }
}

function writeField(writer: WireWriter, number: number, type: FieldType, value: unknown): void {
  if (value === null || value === undefined) return
  switch (type.form) {
    case 'list':
      for (const item of value as unknown[]) writeField(writer, number, type.element!, item ?? emptyItem(type.element!))
      return
    case 'map':
      for (const [key, entry] of Object.entries(value as JsonMap)) {
        const pair = new WireWriter()
        pair.part(1, key)
        writeField(pair, 2, type.element!, entry)
        writer.part(number, pair.bytes())
      }
      return
    case 'bool':
      writer.varint(number, value ? 1n : 0n)
      return
    case 'int32':
    case 'int64':
    case 'uint':
      writer.varint(number, typeof value === 'bigint' ? value : BigInt(Math.trunc(value as number)))
      return
    case 'double':
      writer.double(number, Number(value))
      return
    case 'string':
      writer.part(number, value as string)
      return
    case 'bytes':
      writer.part(number, Buffer.from(value as string, 'base64'))
      return
    default:
      writer.part(number, structured(type, value))
  }
}

const emptyItem = ({ form }: FieldType): unknown => (form === 'message' ? {} : '')

function structured(type: FieldType, value: unknown): Buffer {
  const writer = new WireWriter()
  switch (type.form) {
    case 'message':
      return encodeMessage(type.message!, value as JsonMap)
    case 'wrapped':
      writeField(writer, 1, type.element!, value)
      break
    case 'Time':
    case 'MicroTime':
      writeTime(writer, value as string)
      break
    case 'Quantity':
      writer.part(1, String(value))
      break
    case 'IntOrString':
      writer.varint(1, typeof value === 'string' ? 1n : 0n)
      writer.varint(2, typeof value === 'string' ? 0n : BigInt(value as number))
      writer.part(3, typeof value === 'string' ? value : '')
      break
    case 'raw':
      writer.part(1, toJson(value))
      break
    default:
      writeSchemaOr(writer, type.form, value)
  }
  return writer.bytes()
}

function writeTime(writer: WireWriter, value: string): void {
  const [, fraction = ''] = /\.(\d+)/.exec(value) ?? []
  writer.varint(1, BigInt(Math.floor(Date.parse(value) / 1000)))
  writer.varint(2, BigInt(fraction.padEnd(9, '0').slice(0, 9)))
}

/** The unions of the CRD schema language: a schema or something simpler. */
function writeSchemaOr(writer: WireWriter, form: string, value: unknown): void {
  const schema = (item: unknown): Buffer => encodeMessage(jsonSchema, item as JsonMap)
  if (form === 'schemaOrBool') {
    writer.varint(1, value === true || isMap(value) ? 1n : 0n)
    if (isMap(value)) writer.part(2, schema(value))
  } else if (isMap(value)) writer.part(1, schema(value))
  else for (const item of value as unknown[]) writer.part(2, typeof item === 'string' ? item : schema(item))
}
