import { exactInteger } from '../../shared/api/json/exact-json.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { ProtobufError, WireReader, type WireType } from '../../shared/protobuf/wire-reader.ts'
import type { BodyValues } from '../validation/body-values.ts'
import { type JsonMap, put } from '../values/json-map.ts'
import { type FieldType, type MessageField, message } from './messages.ts'

interface Parts {
  decodeRaw(bytes: Buffer): unknown
  /** Counts what is decoded: an empty message takes two bytes. */
  values: BodyValues
}

/** No served type is nested deeper than this. */
const maxDepth = 200

/** Decodes the fields of a message and returns them by their JSON names. */
export const decodeMessage = (name: string, bytes: Buffer, parts: Parts): JsonMap =>
  new MessageDecoder(parts).message(name, bytes, {})

class MessageDecoder {
  readonly #parts: Parts
  #depth = 0
  constructor(parts: Parts) {
    this.#parts = parts
  }

  message(name: string, bytes: Buffer, out: JsonMap): JsonMap {
    if (++this.#depth > maxDepth) throw new ProtobufError('proto: message nested too deeply')
    this.#parts.values.add(1)
    const fields = message(name)
    const reader = new WireReader(bytes)
    while (!reader.done) {
      const { number, wire } = reader.tag(shortName(name))
      const field = fields.get(number)
      if (!field) reader.skip(wire)
      else this.#field(field, wire, reader, out)
    }
    this.#depth--
    return out
  }

  #field({ name, type }: MessageField, wire: WireType, reader: WireReader, out: JsonMap): void {
    if (type.form === 'list') {
      const items = (Object.hasOwn(out, name) ? out[name] : []) as unknown[]
      // Numbers may come packed, many in one field.
      if (wire === 2 && isVarint(type.element!)) {
        const packed = new WireReader(reader.bytes())
        while (!packed.done) items.push(this.#value(type.element!, 0, packed, name))
      } else items.push(this.#value(type.element!, wire, reader, name))
      out[name] = items
    } else if (type.form === 'map') {
      const entries = (Object.hasOwn(out, name) ? out[name] : {}) as JsonMap
      if (wire !== 2) throw wrongWire(wire, name)
      this.#entry(type.element!, reader.bytes(), entries, name)
      out[name] = entries
    } else if (name === '' && type.form === 'message') {
      this.message(type.message!, reader.bytes(), out)
    } else {
      out[name] = this.#value(type, wire, reader, name)
    }
  }

  #entry(element: FieldType, bytes: Buffer, entries: JsonMap, name: string): void {
    const reader = new WireReader(bytes)
    let key = ''
    let value: unknown = emptyOf(element)
    this.#parts.values.add(1)
    while (!reader.done) {
      const { number, wire } = reader.tag('Entry')
      if (number === 1 && wire === 2) key = text(reader.bytes())
      else if (number === 2) value = this.#value(element, wire, reader, name)
      else reader.skip(wire)
    }
    put(entries, key, value)
  }

  #value(type: FieldType, wire: WireType, reader: WireReader, name: string): unknown {
    this.#parts.values.add(1)
    if (wire !== wireOf(type)) throw wrongWire(wire, name)
    switch (type.form) {
      case 'bool':
        return reader.varint() !== 0n
      case 'int32':
        return Number(BigInt.asIntN(32, reader.varint()))
      case 'int64':
        return exactInteger(BigInt.asIntN(64, reader.varint()))
      case 'uint':
        return exactInteger(reader.varint())
      case 'double':
        return reader.double()
      case 'string':
        return text(reader.bytes())
      case 'bytes':
        return reader.bytes().toString('base64')
      default:
        return this.#structured(type, reader.bytes())
    }
  }

  #structured(type: FieldType, bytes: Buffer): unknown {
    switch (type.form) {
      case 'message':
        return this.message(type.message!, bytes, {})
      case 'wrapped':
        return this.#unwrap(type.element!, bytes)
      case 'Time':
      case 'MicroTime':
        return time(bytes, type.form)
      case 'Quantity':
        return this.#only(bytes)
      case 'IntOrString':
        return intOrString(bytes)
      case 'raw':
        return this.#raw(bytes)
      default:
        return this.#schemaOr(type.form, bytes)
    }
  }

  /** Messages that stand for a list or map: its single field `items`. */
  #unwrap(type: FieldType, bytes: Buffer): unknown {
    const out: JsonMap = {}
    const reader = new WireReader(bytes)
    while (!reader.done) {
      const { number, wire } = reader.tag('items')
      if (number === 1) this.#field({ name: 'items', type }, wire, reader, out)
      else reader.skip(wire)
    }
    return out.items ?? (type.form === 'map' ? {} : [])
  }

  #only(bytes: Buffer): string {
    return text(onlyField(bytes) ?? Buffer.alloc(0))
  }

  #raw(bytes: Buffer): unknown {
    return this.#parts.decodeRaw(onlyField(bytes) ?? Buffer.alloc(0))
  }

  /** The unions of the CRD schema language: a schema or something simpler. */
  #schemaOr(form: string, bytes: Buffer): unknown {
    const reader = new WireReader(bytes)
    let schema: JsonMap | undefined
    let allows = false
    const others: unknown[] = []
    while (!reader.done) {
      const { number, wire } = reader.tag('JSONSchemaProps')
      if (wire === 0) allows = reader.varint() !== 0n
      else if (form === 'schemaOrStrings' && number === 2) others.push(text(reader.bytes()))
      else if (form === 'schemaOrArray' && number === 2) others.push(this.message(jsonSchema, reader.bytes(), {}))
      else schema = this.message(jsonSchema, reader.bytes(), {})
    }
    if (form === 'schemaOrBool') return schema ?? allows
    return others.length > 0 ? others : (schema ?? null)
  }
}

const jsonSchema = 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps'
const shortName = (name: string) => name.slice(name.lastIndexOf('.') + 1)
const varints = new Set(['bool', 'int32', 'int64', 'uint'])
const isVarint = (type: FieldType) => varints.has(type.form)
const wireOf = (type: FieldType): WireType => (isVarint(type) ? 0 : type.form === 'double' ? 1 : 2)
const wrongWire = (wire: WireType, name: string) =>
  new ProtobufError(`proto: wrong wireType = ${wire} for field ${name.charAt(0).toUpperCase()}${name.slice(1)}`)

/** Go keeps any bytes in a string; JSON cannot, and its encoder replaces what is not UTF-8. */
const text = (bytes: Buffer) => bytes.toString()

function emptyOf(type: FieldType): unknown {
  if (type.form === 'message' || type.form === 'map') return {}
  if (type.form === 'wrapped') return type.element?.form === 'map' ? {} : []
  if (isVarint(type)) return type.form === 'bool' ? false : 0
  return type.form === 'Time' || type.form === 'MicroTime' ? null : type.form === 'Quantity' ? '0' : ''
}

/** Field 1 of a message that has no other. */
function onlyField(bytes: Buffer): Buffer | undefined {
  const reader = new WireReader(bytes)
  let found: Buffer | undefined
  while (!reader.done) {
    const { number, wire } = reader.tag('Value')
    if (number === 1 && wire === 2) found = reader.bytes()
    else reader.skip(wire)
  }
  return found
}

function numbers(bytes: Buffer): { ints: Map<number, bigint>; texts: Map<number, string> } {
  const ints = new Map<number, bigint>()
  const texts = new Map<number, string>()
  const reader = new WireReader(bytes)
  while (!reader.done) {
    const { number, wire } = reader.tag('Value')
    if (wire === 0) ints.set(number, BigInt.asIntN(64, reader.varint()))
    else if (wire === 2) texts.set(number, text(reader.bytes()))
    else reader.skip(wire)
  }
  return { ints, texts }
}

const maxSeconds = 253_402_300_799

/** Seconds and nanoseconds; an empty message is no time at all. */
function time(bytes: Buffer, form: 'Time' | 'MicroTime'): string | null {
  if (bytes.length === 0) return null
  const { ints } = numbers(bytes)
  const seconds = Number(ints.get(1) ?? 0n)
  const nanos = Number(ints.get(2) ?? 0n)
  if (Math.abs(seconds) > maxSeconds) throw new ProtobufError('Time.MarshalJSON: year outside of range [0,9999]')
  if (form === 'Time') return toTime(seconds * 1000)
  const micros = String(Math.floor(nanos / 1000)).padStart(6, '0')
  return `${toTime(seconds * 1000).slice(0, -1)}.${micros}Z`
}

function intOrString(bytes: Buffer): number | string {
  const { ints, texts } = numbers(bytes)
  return (ints.get(1) ?? 0n) === 0n ? Number(BigInt.asIntN(32, ints.get(2) ?? 0n)) : (texts.get(3) ?? '')
}
