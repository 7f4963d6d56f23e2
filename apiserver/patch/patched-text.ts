/**
 * The text of a patched object that does not decode, as a real server's messages quote it. Its library for patches
 * keeps as text what the patch does not look into: there numbers, texts and the order of keys are as they were
 * written. The object is written as Go encodes its types.
 */
import { type StructType, structType, type ValueType } from '../../openapi/types.ts'
import { JsonLiteral, parseLiterals } from '../../shared/api/json/exact-json.ts'
import { isMap, type JsonMap, own, put } from '../values/json-map.ts'
import { insert, locate, read, replace, take } from './json-patch.ts'

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

/** Holds the objects that a patch looked into: their keys are printed in order. */
type Opened = Set<unknown>

/** Quotes the object after a JSON patch, whose `operations` apply; both are texts of JSON. */
export function quoteJsonPatched(object: string, operations: string): string {
  const opened: Opened = new Set()
  const look = (value: unknown): void => void opened.add(value)
  let document = parseLiterals(object)
  for (const operation of (parseLiterals(operations) ?? []) as Record<string, unknown>[]) {
    const text = (name: string): string => (operation[name] instanceof JsonLiteral ? plain(operation[name]) : '')
    const at = (name: string) => locate(document, text(name), 'quote', look)
    const value = operation.value ?? new JsonLiteral('null')
    look(document)
    if (text('op') === 'replace' && text('path') === '') document = value
    else if (text('op') === 'move') {
      const moved = take(at('from'))
      insert(at('path'), moved)
    } else if (text('op') === 'copy') {
      const copied = read(at('from')) ?? new JsonLiteral('null')
      const target = at('path')
      insert(target, parseLiterals(print(copied, opened)))
    } else if (text('op') === 'remove') take(at('path'))
    else if (text('op') === 'add') insert(at('path'), value)
    else if (text('op') === 'replace') replace(at('path'), value)
    else openAll(read(at('path')), opened)
  }
  look(document)
  return print(document, opened)
}

/** Quotes the object after a merge patch; both are texts of JSON. */
export function quoteMerged(object: string, patch: string): string {
  const opened: Opened = new Set()
  return print(merged(parseLiterals(object), parseLiterals(patch), opened), opened)
}

function merged(target: unknown, patch: unknown, opened: Opened): unknown {
  if (!isObject(target)) return withoutNulls(patch, opened)
  if (!isObject(patch)) return patch
  opened.add(target)
  for (const [key, value] of Object.entries(patch)) {
    const known = own(target, key)
    if (isNull(value)) delete target[key]
    else put(target, key, known === undefined ? withoutNulls(value, opened) : merged(known, value, opened))
  }
  return target
}

/** Removes what is null in the objects of a value, and looks into all of it. */
function withoutNulls(value: unknown, opened: Opened): unknown {
  opened.add(value)
  if (Array.isArray(value)) for (const item of value) withoutNulls(item, opened)
  else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      if (isNull(member)) delete value[key]
      else withoutNulls(member, opened)
    }
  }
  return value
}

const isObject = (value: unknown): value is JsonMap => isMap(value) && !(value instanceof JsonLiteral)
const isNull = (value: unknown): boolean => value instanceof JsonLiteral && value.source === 'null'
const plain = ({ source }: JsonLiteral): string => String(JSON.parse(source) ?? '')

function openAll(value: unknown, opened: Opened): void {
  if (Array.isArray(value)) for (const item of value) openAll(item, opened)
  else if (isObject(value)) {
    opened.add(value)
    for (const member of Object.values(value)) openAll(member, opened)
  }
}

function print(value: unknown, opened: Opened): string {
  if (value instanceof JsonLiteral) return escaped(value.source)
  if (Array.isArray(value)) return `[${value.map((item) => print(item, opened)).join(',')}]`
  const object = value as JsonMap
  const keys = opened.has(object) ? Object.keys(object).sort() : Object.keys(object)
  return `{${keys.map((key) => `${escaped(JSON.stringify(key))}:${print(object[key], opened)}`).join(',')}}`
}

/** Go writes what HTML and JavaScript would read as numbers. */
const escaped = (text: string): string =>
  text.replaceAll(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
