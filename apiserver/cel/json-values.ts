/** JSON values of a schema, as expressions see them. */

import { parseDuration } from '../schema/formats.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject } from '../schema/json-schema.ts'
import { sortedJson } from '../schema/list-types.ts'
import { TRAVERSAL } from './cost-units.ts'
import { convertDyn } from './dyn-values.ts'
import { escapeName } from './escape.ts'
import { parseGoDuration, parseTimestamp } from './library/time.ts'
import { charge } from './meter.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  struct,
  TIMESTAMP,
} from './types.ts'
import { Duration, type KeyedItems, StructValue, withKeys } from './values.ts'

/** Holds the CEL type of a schema, and the conversion of its values. */
export interface SchemaType {
  type: CelType
  /** Converts a JSON value to a CEL value. Values of other types are converted as {@link convertDyn} does. */
  convert(value: unknown): unknown
  /** Set if the conversion returns strings and booleans unchanged. */
  isPlain?: true
}

const text = (type: CelType, convert: (value: string) => unknown): SchemaType => ({
  type,
  convert: (value) => (typeof value === 'string' ? (convert(value) ?? value) : convertDyn(value)),
})
const SCALARS: Record<string, SchemaType> = {
  integer: { type: INT, convert: convertDyn },
  number: {
    type: DOUBLE,
    convert: (value) =>
      typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : convertDyn(value),
  },
  boolean: { type: BOOL, convert: convertDyn, isPlain: true },
  string: { type: STRING, convert: convertDyn, isPlain: true },
}
const FORMATTED: Record<string, SchemaType> = {
  'date-time': text(TIMESTAMP, parseTimestamp),
  date: text(TIMESTAMP, (value) => parseTimestamp(`${value}T00:00:00Z`)),
  byte: text(BYTES, (value) => new Uint8Array(Buffer.from(value, 'base64'))),
  duration: text(
    DURATION,
    (value) => parseGoDuration(value) ?? new Duration(BigInt(parseDuration(value) ?? 0) * 1_000_000n),
  ),
}
const DYNAMIC: SchemaType = { type: DYN, convert: convertDyn }

/**
 * undefined: expressions do not see values of the schema at all. `name`: of its type in messages. `root`: it is a whole
 * resource, whose kind and name are seen whatever the schema says.
 */
export function schemaType(schema: JSONSchemaProps | undefined, name: string, root = false): SchemaType | undefined {
  if (schema === undefined) return undefined
  if (schema['x-kubernetes-int-or-string'] === true) return DYNAMIC
  switch (schema.type) {
    case 'array':
      return listType(schema, name)
    case 'object':
      return objectType(schema, name, root || isEmbedded(schema))
    case 'string': {
      const { format = '' } = schema
      return Object.hasOwn(FORMATTED, format) ? FORMATTED[format] : SCALARS.string
    }
    default:
      return SCALARS[schema.type ?? '']
  }
}
const isEmbedded = (schema: JSONSchemaProps): boolean => schema['x-kubernetes-embedded-resource'] === true

function listType(schema: JSONSchemaProps, name: string): SchemaType | undefined {
  const item = schemaType(itemsOf(schema), `${name}.@idx`)
  if (item === undefined) return undefined
  const keys = keyedItems(schema)
  return {
    type: listOf(item.type),
    convert(value) {
      if (!Array.isArray(value)) return convertDyn(value)
      const list = value.map(item.convert)
      return keys === undefined ? list : withKeys(list, keys)
    },
  }
}

function keyedItems(schema: JSONSchemaProps): KeyedItems | undefined {
  const kind = schema['x-kubernetes-list-type']
  if (kind === 'set') return { isSet: true, idOf: identityOf }
  const keys = (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapeName(key) ?? key)
  if (kind !== 'map' || keys.length === 0) return undefined
  const [key] = keys
  const ofFields = (item: StructValue): unknown =>
    keys.length === 1 ? identityOf(item.get(key!)) : keys.map((key) => identityText(item.get(key))).join()
  return { isSet: false, idOf: (item) => (item instanceof StructValue ? ofFields(item) : identityOf(item)) }
}
/** The cost of looking an item up, beside reading it. */
const LOOK_UP = 0.2
/** Texts and numbers tell themselves apart; no text begins as those of other items do. */
function identityOf(item: unknown): unknown {
  if (typeof item !== 'string' && typeof item !== 'bigint') return `\0${identityText(item)}`
  charge(LOOK_UP + (typeof item === 'string' ? item.length * TRAVERSAL : 0))
  return item
}
function identityText(item: unknown): string {
  const id = sortedJson(item instanceof JsonStruct ? item.json : typeof item === 'bigint' ? `${item}n` : item)
  charge(LOOK_UP + id.length * TRAVERSAL)
  return id
}

function objectType(schema: JSONSchemaProps, name: string, withMeta: boolean): SchemaType | undefined {
  const additional = additionalOf(schema)
  if (additional !== undefined) {
    const entry = schemaType(additional, `${name}.@elem`)
    if (entry === undefined) return undefined
    return {
      type: mapOf(STRING, entry.type),
      convert: (value) =>
        isObject(value)
          ? new Map(Object.entries(value).map(([key, field]) => [key, entry.convert(field)]))
          : convertDyn(value),
    }
  }
  const shape = new Shape(name, { ...schema.properties, ...(withMeta && META) })
  return {
    type: shape.type,
    convert: (value) => (isObject(value) ? new JsonStruct(shape, value) : convertDyn(value)),
  }
}

const META: Record<string, JSONSchemaProps> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
}

/** The fields of an object's type, each built when it is first asked for. */
class Shape {
  readonly type: CelType
  /** Maps the name of a field in expressions to its key. */
  readonly keys = new Map<string, string>()
  readonly #name: string
  readonly #properties: Record<string, JSONSchemaProps>
  readonly #built = new Map<string, SchemaType | undefined>()

  constructor(name: string, properties: Record<string, JSONSchemaProps>) {
    this.#name = name
    this.#properties = properties
    for (const key of Object.keys(properties)) {
      const escaped = escapeName(key)
      if (escaped !== undefined) this.keys.set(escaped, key)
    }
    this.type = struct(name, { get: (field) => this.field(field)?.type })
  }
  /** A name is taken plain where it needs no escape but that it is a word of the language. */
  keyOf(field: string): string | undefined {
    return this.keys.get(field) ?? this.keys.get(`__${field}__`)
  }
  field(field: string): SchemaType | undefined {
    const key = this.keyOf(field)
    if (key === undefined) return undefined
    if (!this.#built.has(key)) this.#built.set(key, schemaType(this.#properties[key], `${this.#name}.${key}`))
    return this.#built.get(key)
  }
}

class JsonStruct extends StructValue {
  readonly json: JsonObject
  readonly #shape: Shape
  #converted: Map<string, unknown> | undefined

  constructor(shape: Shape, json: JsonObject) {
    super()
    this.#shape = shape
    this.json = json
  }
  get type(): CelType {
    return this.#shape.type
  }
  get size(): number {
    return Object.keys(this.json).length
  }
  has(field: string): boolean {
    const key = this.#shape.keyOf(field)
    return key !== undefined && Object.hasOwn(this.json, key) && this.json[key] !== null && this.json[key] !== undefined
  }
  names(): string[] {
    return [...this.#shape.keys.keys()].filter((field) => this.has(field) && this.#shape.field(field) !== undefined)
  }
  protected value(field: string): unknown {
    const value = this.json[this.#shape.keyOf(field)!]
    const type = this.#shape.field(field)
    if (type?.isPlain === true && (typeof value === 'string' || typeof value === 'boolean')) return value
    this.#converted ??= new Map()
    if (!this.#converted.has(field)) this.#converted.set(field, type?.convert(value))
    return this.#converted.get(field)
  }
}
