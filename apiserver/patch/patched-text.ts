/**
 * The text of a patched object that does not decode, as a real server's messages quote it. The object is as Go encodes
 * its types, but for what the patch looked into: that is in the order of its keys.
 */
import { type StructType, structType, type ValueType } from '../../openapi/types.ts'
import { isMap, type JsonMap, own } from '../values/json-map.ts'

/**
 * Puts the fields of structs in the order of their declaration, and the keys of maps in order. `schema` is the object's
 * type in the generated table, or empty for a custom resource, whose keys are all in order.
 */
export const inOrderOfFields = (object: JsonMap, schema: string): JsonMap =>
  ordered(object, schema ? { kind: 'object', ref: schema, pointer: false, goType: '' } : undefined) as JsonMap

function ordered(value: unknown, type: ValueType | undefined): unknown {
  if (type?.kind === 'raw') return value
  if (Array.isArray(value)) return value.map((item) => ordered(item, type?.item))
  if (!isMap(value)) return value
  const keys = type?.kind === 'object' ? declared(value, structType(type.ref!)) : Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key], memberOf(type, key))]))
}

function declared(value: JsonMap, { fields, byName }: StructType): string[] {
  const known = fields.map(({ name }) => name).filter((name) => value[name] !== undefined)
  return [...known, ...Object.keys(value).filter((name) => !byName.has(name))]
}

function memberOf(type: ValueType | undefined, key: string): ValueType | undefined {
  if (type?.kind === 'map') return type.item
  return type?.kind === 'object' ? structType(type.ref!).byName.get(key)?.type : undefined
}

/**
 * Puts the keys of objects in order that a patch looks into. `touched` has a key for each key that it looks into; what
 * is no object in there stands for all that is below.
 */
export function sortTouched(value: unknown, touched: unknown): unknown {
  if (touched === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item, index) => sortTouched(item, inside(touched, String(index))))
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, sortTouched(item, inside(touched, key))]))
}

const inside = (touched: unknown, key: string): unknown => (isMap(touched) ? own(touched, key) : null)
