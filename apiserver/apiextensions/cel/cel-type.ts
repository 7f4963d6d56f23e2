import type { Environment } from '@marcbachmann/cel-js'
import { parseDuration } from '../schema/formats.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps } from '../schema/json-schema.ts'

/** A schema as CEL sees it: its type's name in the environment, and how JSON becomes a value of it. */
export interface CelType {
  name: string
  convert(value: unknown): unknown
}

const DYN: CelType = { name: 'dyn', convert: convertDyn }
const SCALARS: Record<string, CelType> = {
  integer: {
    name: 'int',
    convert: (value) => (typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value),
  },
  number: { name: 'double', convert: (value) => value },
  boolean: { name: 'bool', convert: (value) => value },
  string: { name: 'string', convert: (value) => value },
}
const STRINGS: Record<string, CelType> = {
  'date-time': { name: 'google.protobuf.Timestamp', convert: toDate },
  date: { name: 'google.protobuf.Timestamp', convert: toDate },
  byte: {
    name: 'bytes',
    convert: (value) => (typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value),
  },
}
function toDate(value: unknown): unknown {
  return typeof value === 'string' ? new Date(Date.parse(value)) : value
}

/** Registers, in an environment, the types that a schema needs. */
export class TypeRegistrar {
  readonly #env: Environment
  readonly #duration: (ms: number) => unknown
  #count = 0
  constructor(env: Environment, duration: (ms: number) => unknown) {
    this.#env = env
    this.#duration = duration
  }

  /** `root`: the object itself, of whose metadata rules see the names. */
  typeOf(schema: JSONSchemaProps | undefined, root = false): CelType {
    if (schema === undefined || schema['x-kubernetes-int-or-string'] === true) return DYN
    switch (schema.type) {
      case 'array':
        return this.#list(itemsOf(schema))
      case 'object':
        return this.#object(schema, root)
      case 'string':
        return this.#string(schema)
      default:
        return SCALARS[schema.type ?? ''] ?? DYN
    }
  }

  #string(schema: JSONSchemaProps): CelType {
    if (schema.format === 'duration') {
      return {
        name: 'google.protobuf.Duration',
        convert: (value) => (typeof value === 'string' ? this.#duration(parseDuration(value) ?? 0) : value),
      }
    }
    const { format = '' } = schema
    return (Object.hasOwn(STRINGS, format) ? STRINGS[format] : SCALARS.string) as CelType
  }

  #list(items: JSONSchemaProps | undefined): CelType {
    const item = this.typeOf(items)
    return { name: `list<${item.name}>`, convert: (value) => (Array.isArray(value) ? value.map(item.convert) : value) }
  }

  #object(schema: JSONSchemaProps, root: boolean): CelType {
    const additional = additionalOf(schema)
    if (additional !== undefined || schema.additionalProperties === true) {
      const entry = this.typeOf(additional)
      return {
        name: `map<string, ${entry.name}>`,
        convert: (value) =>
          isObject(value) ? new Map(Object.entries(value).map(([key, field]) => [key, entry.convert(field)])) : value,
      }
    }
    const withMeta = root || schema['x-kubernetes-embedded-resource'] === true
    const properties = { ...schema.properties, ...(withMeta && META) }
    return this.#struct(Object.entries(properties).map(([key, property]) => [key, this.typeOf(property)]))
  }

  #struct(properties: [key: string, type: CelType][]): CelType {
    const fields = properties.map(([key, type]): [string, string, CelType] => [key, escapeName(key), type])
    const name = `object${++this.#count}`
    const Struct = class {}
    this.#env.registerType(name, {
      ctor: Struct,
      fields: Object.fromEntries(fields.map(([, fieldName, type]) => [fieldName, type.name])),
    })
    this.#env.registerOperator(`${name} == ${name}`, equalStructs as never)
    const convert = (value: unknown): unknown => {
      if (!isObject(value)) return value
      const struct = new Struct() as Record<string, unknown>
      for (const [key, fieldName, type] of fields) {
        const field = Object.hasOwn(value, key) ? value[key] : undefined
        if (field !== undefined && field !== null) struct[fieldName] = type.convert(field)
      }
      return struct
    }
    return { name, convert }
  }
}

const META: Record<string, JSONSchemaProps> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
}

/** Any JSON value, as an expression sees it that knows nothing of its type. */
export function convertDyn(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (Array.isArray(value)) return value.map(convertDyn)
  return isObject(value) ? new Map(Object.entries(value).map(([key, field]) => [key, convertDyn(field)])) : value
}

const comparable = (value: unknown): string =>
  JSON.stringify(value, (_, field) =>
    typeof field === 'bigint' ? `${field}n` : field instanceof Map ? [...field].sort() : field,
  )
const equalStructs = (left: unknown, right: unknown): boolean => comparable(left) === comparable(right)

/** Words that CEL keeps for itself. */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
/** Property names that are no identifiers are written otherwise in rules. */
function escapeName(key: string): string {
  if (RESERVED.has(key)) return `__${key}__`
  return key.replace(/__|[.\-/]/g, (part) => ESCAPES[part] ?? part)
}
const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' }
