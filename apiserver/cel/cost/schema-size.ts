/**
 * Computes how large values of a schema can be: by its own bounds, or by what a request of 3 MiB can hold. Upstream:
 * k8s.io/apiserver/pkg/cel/common/schemas.go.
 */
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, ownProperty } from '../../schema/json-schema.ts'
import { escapeName } from '../escape.ts'

const REQUEST = 3 * 1024 * 1024
/** The largest and the smallest text of a format, with its quotes. */
const FORMATS: Record<string, { most: number; least: number }> = {
  duration: { most: 32, least: 3 },
  date: { most: 12, least: 12 },
  'date-time': { most: 32, least: 21 },
}
/** The smallest text of a value, for types whose size is fixed. */
const SCALARS: Record<string, number> = { boolean: 4, integer: 1, number: 1 }
/** A character has four bytes in the worst case. */
const BYTES_OF_CHARACTER = 4
const EMPTY = 2

export interface SchemaSize {
  /** Bounds the characters or bytes, items, or entries. */
  maxElements: number
  /** The fewest bytes that the value's JSON takes. */
  minBytes: number
  items?: SchemaSize
  entries?: SchemaSize
  fields?: ReadonlyMap<string, SchemaSize>
}
/** The size of a map's keys: upstream does not bound it. */
export const KEY: SchemaSize = { maxElements: 0, minBytes: EMPTY }

/** Returns how often a value can occur in one object if nothing bounds the lists and maps around the value. */
export const cardinality = ({ minBytes }: SchemaSize): number => Math.floor(REQUEST / (minBytes + 1))

/** Returns the size of a schema's values; undefined if expressions cannot see values of the schema. */
export function schemaSize(schema: JSONSchemaProps | undefined, root = false): SchemaSize | undefined {
  if (schema === undefined) return undefined
  if (schema['x-kubernetes-int-or-string'] === true) return { maxElements: textLength(schema), minBytes: 1 }
  switch (schema.type) {
    case 'array':
      return listSize(schema)
    case 'object':
      return objectSize(root || schema['x-kubernetes-embedded-resource'] === true ? withMeta(schema) : schema)
    case 'string':
      return stringSize(schema)
    default: {
      const minBytes = SCALARS[schema.type ?? '']
      return minBytes === undefined ? undefined : { maxElements: 0, minBytes }
    }
  }
}

const notNegative = (value: number): number => Math.max(0, value)
const textLength = ({ maxLength }: JSONSchemaProps): number =>
  maxLength === undefined ? REQUEST - 2 : notNegative(maxLength) * BYTES_OF_CHARACTER

function stringSize(schema: JSONSchemaProps): SchemaSize {
  const { format = '', maxLength, enum: values = [] } = schema
  const fixed = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  if (fixed !== undefined) return { maxElements: fixed.most, minBytes: fixed.least }
  if (format === 'byte' && maxLength !== undefined) return { maxElements: notNegative(maxLength), minBytes: EMPTY }
  if (maxLength !== undefined || values.length === 0 || format === 'byte')
    return { maxElements: textLength(schema), minBytes: EMPTY }
  const lengths = values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0))
  return { maxElements: Math.max(...lengths), minBytes: EMPTY }
}

function listSize(schema: JSONSchemaProps): SchemaSize | undefined {
  const items = schemaSize(itemsOf(schema))
  if (items === undefined) return undefined
  const most = schema.maxItems ?? Math.floor((REQUEST - EMPTY) / (items.minBytes + 1))
  return { maxElements: notNegative(most), minBytes: EMPTY, items }
}

/** Quotes of a key, colon and comma, and two characters. */
const KEY_BYTES = 6
function objectSize(schema: JSONSchemaProps): SchemaSize | undefined {
  const additional = additionalOf(schema)
  if (additional === undefined) return structSize(schema)
  const entries = schemaSize(additional)
  if (entries === undefined) return undefined
  const most = schema.maxProperties ?? Math.floor((REQUEST - EMPTY) / (entries.minBytes + KEY_BYTES))
  return { maxElements: notNegative(most), minBytes: EMPTY, entries }
}

/** Quotes, colon and comma. */
const FIELD_BYTES = 4
function structSize({ properties = {}, required = [] }: JSONSchemaProps): SchemaSize {
  const fields = new Map<string, SchemaSize>()
  const needed = new Set(required)
  let minBytes = EMPTY
  for (const [key, property] of Object.entries(properties)) {
    const size = schemaSize(property)
    if (size === undefined) continue
    const name = escapeName(key)
    if (name !== undefined) fields.set(name, size)
    if (needed.has(key) && (property.default ?? null) === null)
      minBytes += Buffer.byteLength(key) + size.minBytes + FIELD_BYTES
  }
  return { maxElements: 0, minBytes, fields }
}

const TEXT: JSONSchemaProps = { type: 'string' }
/** A resource's kind, version and names are seen whatever its schema says; it is left alone if it has them all. */
function withMeta(schema: JSONSchemaProps): JSONSchemaProps {
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const named = (name: string): boolean => ownProperty(metadata?.properties, name)?.type === 'string'
  if (kind?.type === 'string' && apiVersion?.type === 'string' && isObject(metadata) && metadata.type === 'object')
    if (named('name') && named('generateName')) return schema
  const meta = { type: 'object', properties: { name: TEXT, generateName: TEXT } }
  return { ...schema, properties: { ...schema.properties, kind: TEXT, apiVersion: TEXT, metadata: meta } }
}
