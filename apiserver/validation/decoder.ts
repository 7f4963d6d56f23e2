/**
 * Turns parsed JSON into an object of an API type, the way upstream's typed decoder and encoder do together:
 * fields unknown to the type are dropped and reported, null is absent, wrong types fail in Go's words,
 * quantities, times and base64 come out canonical, what Go would not write (empty and omitempty) is left out
 * and what it always writes (`resources: {}`) is put in. Nested values are changed in place.
 */

import { type Field, type StructType, structType, type ValueType, zeroObject, zeroValue } from '../../openapi/types.ts'
import { isInt64 } from '../../shared/api/json/exact-json.ts'
import { canonicalQuantity } from '../../shared/api/quantities/quantity.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { canonicalMicroTime, canonicalTime } from '../../shared/clock/go-time.ts'
import { isMap } from '../values/json-map.ts'
import { isComplete } from '../values/recurring.ts'
import { defaultWorkLimits } from '../work-limits.ts'
import { canonicalBase64 } from './base64.ts'
import { BodyValues } from './body-values.ts'
import { type Emptied, noteEmptied } from './emptied.ts'
import { jsonWord } from './json-word.ts'
import { firstErrors } from './strict-errors.ts'

/** The body is not of the type; the message is Go's, without a prefix that names the request. */
export class DecodeError extends Error {
  /** Name of the server's limit that was reached. */
  limit: string | undefined
}

export interface Decoded<T = KubeObject> {
  /** `{metadata: {name, …}, …}`: without kind and apiVersion, ready to be encoded. */
  object: T
  /** Texts such as `unknown field "spec.foo"`, in the order of the body. */
  strictErrors: string[]
}

/**
 * Describes a type that can be decoded: a built-in type by its name in the schemas, or a custom resource by its own
 * decoder.
 */
export interface Decodable {
  schema: string
  custom?: { decode(body: Record<string, unknown>): Decoded }
}

/**
 * Decodes an object of a resource: any top-level type with metadata. Throws {@link DecodeError}, or a StatusError (413)
 * for more than `maxValues` values. Members that it shares with `decoded`, but for its metadata, are taken as they are.
 */
export function decodeObject(
  definition: Decodable,
  body: unknown,
  maxValues = defaultWorkLimits.bodyValues,
  decoded: Record<string, unknown> = {},
): Decoded {
  if (definition.custom && isMap(body)) return definition.custom.decode(body)
  const struct = structType(definition.schema)
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw new DecodeError(`json: cannot unmarshal ${jsonWord(body)} into Go value of type ${goValue(struct)}`)
  }
  const run = new Decoding(definition.schema, maxValues)
  const object = run.root(body as Record<string, unknown>, struct, decoded)
  run.end()
  if (run.emptied) noteEmptied(object, run.emptied)
  return { object: object as KubeObject, strictErrors: firstErrors(run.unknown) }
}

/** Decodes a value of any struct type, e.g. DeleteOptions, in place. Throws {@link DecodeError}. */
export function decodeStruct<T>(schema: string, body: unknown): { value: T; strictErrors: string[] } {
  const struct = structType(schema)
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw new DecodeError(`json: cannot unmarshal ${jsonWord(body)} into Go value of type ${goValue(struct)}`)
  }
  const run = new Decoding(schema, defaultWorkLimits.bodyValues)
  run.struct(body as Record<string, unknown>, struct)
  run.end()
  return { value: body as T, strictErrors: firstErrors(run.unknown) }
}

/** An object of the type with nothing set, as a bookmark shows it. */
export const zeroOf = (schema: string): Record<string, unknown> => zeroObject(structType(schema))

const goValue = (struct: StructType) => `v1.${struct.goName}`

/** `__proto__` as a key must stay a key. */
const define = (target: Record<string, unknown>, name: string, value: unknown) => {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
  else target[name] = value
}

const jsonSchema = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps'
const INT32_MAX = 2_147_483_647
const metadataField = 'metadata'

/** Decodes one body: it knows the current path, and collects unknown fields. */
class Decoding {
  readonly unknown: string[] = []
  emptied: Emptied[] | undefined
  readonly #schema: string
  readonly #values: BodyValues
  /** From the root: field, then index or key, then field … */
  readonly #path: (Field | number | string)[] = []

  /** The first value of a wrong type. Go reads on: an error of a type that reads itself comes before it. */
  #wrongType: DecodeError | undefined

  constructor(schema: string, maxValues: number) {
    this.#schema = schema
    this.#values = new BodyValues(maxValues)
  }

  /** Throws the DecodeError of the first value that has a wrong type. */
  end(): void {
    if (this.#wrongType) throw this.#wrongType
  }

  /** A fresh object that begins with its metadata. */
  root(source: Record<string, unknown>, struct: StructType, decoded: Record<string, unknown>): Record<string, unknown> {
    const object: Record<string, unknown> = { metadata: undefined }
    for (const name of Object.keys(source)) {
      if (name === 'kind' || name === 'apiVersion') continue
      if (name === metadataField) {
        object.metadata = this.#metadata(struct, source.metadata)
        continue
      }
      define(object, name, source[name])
      if (source[name] === decoded[name] || isComplete(source[name], this.#schema)) continue
      this.#member(object, name, struct)
    }
    object.metadata ??= { name: undefined }
    this.#fill(object, struct)
    return object
  }

  /** A fresh object that begins with the name: stored values begin with `{"metadata":{"name":`. */
  #metadata(root: StructType, value: unknown): Record<string, unknown> | undefined {
    const field = root.byName.get(metadataField)!
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.#fail(jsonWord(value), field, root, field.type)
      return undefined
    }
    const source = value as Record<string, unknown>
    const result: Record<string, unknown> = { name: source.name === null ? undefined : source.name }
    for (const name of Object.keys(source)) if (name !== 'name') define(result, name, source[name])
    this.#path.push(field)
    this.struct(result, structType(field.type.ref!))
    this.#path.pop()
    return 'name' in result ? result : { name: undefined, ...result }
  }

  struct(object: Record<string, unknown>, struct: StructType): void {
    for (const name in object) this.#member(object, name, struct)
    this.#fill(object, struct)
  }

  #member(object: Record<string, unknown>, name: string, struct: StructType): void {
    const value = object[name]
    if (value === undefined) return
    const field = struct.byName.get(name)
    if (field === undefined) {
      this.unknown.push(`unknown field "${this.#strictPath(name)}"`)
      delete object[name]
      return
    }
    const { type } = field
    if (typeof value === 'string' && type.kind === 'string') {
      if (value === '' && field.dropEmpty) delete object[name]
      return
    }
    if (value === null) {
      delete object[name]
      return
    }
    const decoded = this.#value(value, type, field, struct)
    if (decoded !== value) {
      object[name] = decoded
      if (decoded === null) this.#empty(object, name, value, true)
    }
    if (field.dropEmpty && isEmpty(decoded, type)) {
      delete object[name]
      if (typeof decoded === 'object' || type.kind === 'bytes') this.#empty(object, name, decoded, false)
    }
  }

  #empty(at: Record<string, unknown>, name: string, value: unknown, isShown: boolean): void {
    this.emptied ??= []
    this.emptied.push({ at, name, value, isShown })
  }

  #fill(object: Record<string, unknown>, struct: StructType): void {
    for (const field of struct.always) {
      if (object[field.name] === undefined) object[field.name] = zeroValue(field.type)
    }
  }

  #value(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    switch (type.kind) {
      case 'string':
        if (typeof value !== 'string') this.#fail(jsonWord(value), field, struct, type)
        return value
      case 'bool':
        if (typeof value !== 'boolean') this.#fail(jsonWord(value), field, struct, type)
        return value
      case 'int32':
      case 'int64':
        return this.#integer(value, type, field, struct)
      case 'double':
        if (typeof value === 'bigint') return Number(value)
        if (typeof value === 'symbol') return Number(value.description)
        if (typeof value !== 'number') this.#fail(jsonWord(value), field, struct, type)
        return value
      case 'object':
        if (typeof value !== 'object' || Array.isArray(value)) {
          this.#fail(jsonWord(value), field, struct, type)
          return value
        }
        this.#path.push(field)
        this.struct(value as Record<string, unknown>, structType(type.ref!))
        this.#path.pop()
        return value
      case 'list':
        return this.#list(value, type, field, struct)
      case 'map':
        return this.#map(value, type, field, struct)
      default:
        return this.#special(value, type, field, struct)
    }
  }

  /**
   * Values of the kinds that most fields do not have. Apart from the others, for which a function that encloses `value`
   * would be expensive.
   */
  #special(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    switch (type.kind) {
      case 'IntOrString':
        if (typeof value === 'string') return value
        if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= INT32_MAX) return value || 0
        this.#wrongType = undefined
        this.#integer(value, { ...type, kind: 'int32', goType: 'int32' }, field, struct)
        this.end()
        return value
      case 'Quantity':
        if (typeof value === 'symbol') return value.description
        if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') {
          throw new DecodeError(quantityFormat)
        }
        return this.#own(() => canonicalQuantity(String(value).trim()))
      case 'Time':
      case 'MicroTime':
        if (typeof value !== 'string') {
          this.#wrongType = undefined
          this.#fail(jsonWord(value), field, struct, { ...type, goType: 'string' })
          this.end()
        }
        return this.#own(() => (type.kind === 'Time' ? canonicalTime : canonicalMicroTime)(value as string))
      case 'bytes':
        if (Array.isArray(value)) return this.#byteList(value, field, struct)
        if (typeof value !== 'string') {
          this.#fail(jsonWord(value), field, struct, type)
          return value
        }
        return this.#bytes(value)
      case 'raw':
        return value
      case 'schemaOrArray':
      case 'schemaOrBool':
      case 'schemaOrStrings':
        return this.#schemaOr(value, type, field, struct)
      default:
        return value
    }
  }

  /** Go reads on behind wrong base64 as well. */
  #bytes(text: string): string {
    try {
      return canonicalBase64(text)
    } catch (error) {
      this.#wrongType ??= new DecodeError((error as Error).message)
      return text
    }
  }

  /** Go takes bytes as a list of numbers as well. */
  #byteList(items: unknown[], field: Field, struct: StructType): string {
    const type: ValueType = { kind: 'int32', pointer: false, goType: 'uint8' }
    for (const item of items) {
      const isByte = typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255
      if (!isByte && item !== null)
        this.#fail(typeof item === 'number' ? `number ${item}` : jsonWord(item), field, struct, type)
    }
    return Buffer.from(items.map((item) => (typeof item === 'symbol' ? 0 : Number(item)))).toString('base64')
  }

  #integer(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    if (typeof value === 'bigint') {
      if (type.kind !== 'int64' || !isInt64(value)) this.#fail(`number ${value}`, field, struct, type)
      return value
    }
    if (typeof value !== 'number') {
      this.#fail(typeof value === 'symbol' ? `number ${value.description}` : jsonWord(value), field, struct, type)
      return value
    }
    const number = value
    const fits = type.kind === 'int64' ? Math.abs(number) < 2 ** 63 : number <= INT32_MAX && number >= -INT32_MAX - 1
    if (!Number.isInteger(number) || !fits) this.#fail(`number ${number}`, field, struct, type)
    return number === 0 ? 0 : number
  }

  #list(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    if (!Array.isArray(value)) {
      this.#fail(jsonWord(value), field, struct, type)
      return value
    }
    const items = value
    const item = type.item!
    const nested = item.kind === 'object' ? structType(item.ref!) : undefined
    if (nested) this.#values.addListed(items.length, nested.byName.size)
    this.#path.push(field)
    for (let index = 0; index < items.length; index++) {
      const entry = items[index]
      if (entry === null) {
        items[index] = zeroValue(item)
      } else if (nested) {
        if (typeof entry !== 'object' || Array.isArray(entry)) this.#failItem(entry, field, struct, item)
        else {
          this.#path.push(index)
          this.struct(entry as Record<string, unknown>, nested)
          this.#path.pop()
        }
      } else {
        this.#path.pop()
        const decoded = this.#value(entry, item, field, struct)
        this.#path.push(field)
        if (decoded !== entry) items[index] = decoded
      }
    }
    this.#path.pop()
    return items.length === 0 && !field.omitEmpty ? null : items
  }

  #map(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.#fail(jsonWord(value), field, struct, type)
      return value
    }
    const entries = value as Record<string, unknown>
    const item = type.item!
    const keys = Object.keys(entries)
    if (item.kind === 'Quantity') this.#values.addQuantities(keys.length)
    for (const key of keys) {
      const entry = entries[key]
      if (typeof entry === 'string' && item.kind === 'string') continue
      if (entry === null) {
        entries[key] = item.kind === 'bytes' ? '' : zeroValue(item)
      } else if (item.kind === 'object') {
        if (typeof entry !== 'object' || Array.isArray(entry)) this.#failItem(entry, field, struct, item)
        else {
          this.#path.push(field, key)
          this.struct(entry as Record<string, unknown>, structType(item.ref!))
          this.#path.length -= 2
        }
      } else {
        const decoded = this.#value(entry, item, field, struct)
        if (decoded !== entry) define(entries, key, decoded)
      }
    }
    return value
  }

  /**
   * A schema of the CRD language, or something simpler. Upstream's unions read themselves: they report no unknown
   * fields, and what is none of their forms is absent, where it is no error.
   */
  #schemaOr(value: unknown, type: ValueType, field: Field, struct: StructType): unknown {
    if (Array.isArray(value) && type.kind === 'schemaOrStrings') return value
    if (Array.isArray(value) && type.kind === 'schemaOrArray' && value.length > 0) {
      return value.map((item) => this.#schemaOr(item, type, field, struct) ?? {})
    }
    if (isMap(value)) {
      const reported = this.unknown.length
      this.#value(value, { ...type, kind: 'object', ref: jsonSchema }, field, struct)
      this.unknown.length = reported
      return value
    }
    if (type.kind !== 'schemaOrBool') return undefined
    if (typeof value !== 'boolean') throw new DecodeError('boolean or JSON schema expected')
    return value
  }

  /** Types that read themselves: their error stands as it is. */
  #own<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw new DecodeError((error as Error).message)
    }
  }

  #fail(found: string, field: Field, struct: StructType, type: ValueType): void {
    if (this.#wrongType) return
    const path = this.#path.filter((step) => typeof step === 'object').map((step) => step.path)
    this.#wrongType = new DecodeError(
      `json: cannot unmarshal ${found} into Go struct field ${struct.goName}.${[...path, field.path].join('.')} of type ${type.goType}`,
    )
  }
  /** As {@link Decoding.#fail}, where the field is on the path already. */
  #failItem(value: unknown, field: Field, struct: StructType, item: ValueType): void {
    const isOnPath = this.#path.at(-1) === field
    if (isOnPath) this.#path.pop()
    this.#fail(jsonWord(value), field, struct, item)
    if (isOnPath) this.#path.push(field)
  }

  #strictPath(name: string): string {
    let path = ''
    for (const step of this.#path) {
      if (typeof step === 'number') path += `[${step}]`
      else path += `${path && '.'}${typeof step === 'string' ? step : step.name}`
    }
    return `${path && `${path}.`}${name}`
  }
}

export const quantityFormat =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

function isEmpty(value: unknown, type: ValueType): boolean {
  switch (type.kind) {
    case 'list':
      return (value as unknown[]).length === 0
    case 'map':
      for (const _ in value as object) return false
      return true
    case 'string':
    case 'bytes':
      return value === ''
    case 'bool':
      return value === false
    case 'int32':
    case 'int64':
    case 'double':
      return value === 0
    default:
      return false
  }
}
