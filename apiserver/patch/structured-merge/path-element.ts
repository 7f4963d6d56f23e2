import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { isMap } from '../../values/json-map.ts'
import type { ListType, MapType } from './schema.ts'

/** A path element is one step of a field path, as `fieldsV1` writes it: `f:name`, `k:{"name":"a"}`, `v:"x"`. */
export type PathElement = string

export function isPathElement(text: string): boolean {
  const [form, value] = [text.slice(0, 2), text.slice(2)]
  if (form === 'f:') return true
  if (form === 'i:') return /^\d+$/.test(value)
  if (form !== 'k:' && form !== 'v:') return false
  try {
    const parsed: unknown = JSON.parse(value)
    return form === 'v:' || isMap(parsed)
  } catch {
    return false
  }
}

/** Says why a list item has no place in a set of fields. */
export class ItemError extends Error {}

/**
 * Returns the path element of an item of an associative list: its keys (absent keys by their default), or its value.
 * Throws {@link ItemError} for an item that has none.
 */
export function itemElement(list: ListType, item: unknown): PathElement {
  if (list.keys.length === 0) return setElement(item)
  if (item === null) throw new ItemError('associative list with keys may not have a null element')
  if (!isMap(item)) throw new ItemError('associative list with keys may not have non-map elements')
  const [only, ...more] = list.keys
  if (more.length === 0 && typeof item[only!] === 'string') return textElement(only!, item[only!] as string)
  let out = ''
  for (const key of list.keys) {
    const value = key in item ? item[key] : keyDefault(list.element.map, key)
    if (value !== undefined) out += `${out === '' ? 'k:{' : ','}"${key}":${goJson(value)}`
  }
  if (out === '') {
    const keys = list.keys.map((key) => JSON.stringify(key)).join(' ')
    throw new ItemError(
      `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
    )
  }
  return `${out}}`
}

/** Names of containers, variables and mounts come again and again. */
const textElements = new Map<string, Map<string, PathElement>>()
const maxTextElements = 5000
function textElement(key: string, value: string): PathElement {
  let known = textElements.get(key)
  if (!known || known.size >= maxTextElements) {
    known = new Map()
    textElements.set(key, known)
  }
  let element = known.get(value)
  if (element === undefined) {
    element = `k:{"${key}":${goJson(value)}}`
    known.set(value, element)
  }
  return element
}

function setElement(item: unknown): PathElement {
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null")
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements')
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type")
  return `v:${goJson(item)}`
}

const keyDefault = (map: MapType | undefined, key: string): unknown => map?.fields.get(key)?.default

const unsafe = /[<>&\u2028\u2029]/
const unsafeAll = /[<>&\u2028\u2029]/g
/** JSON as Go's encoder writes it, which keeps text safe inside HTML. */
export function goJson(value: unknown): string {
  const text = toJson(value)
  return unsafe.test(text)
    ? text.replace(unsafeAll, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text
}

/** As messages show an element: `.name`, `[name="a",port=80]`, `[="x"]`. */
export function printElement(element: PathElement): string {
  const text = element.slice(2)
  if (element.startsWith('f:')) return `.${text}`
  if (element.startsWith('v:')) return `[=${text}]`
  if (element.startsWith('i:')) return `[${text}]`
  const keys = parseExact(text) as Record<string, unknown>
  return `[${Object.keys(keys)
    .sort()
    .map((key) => `${key}=${printKey(keys[key])}`)
    .join(',')}]`
}

/** Lists and maps are wrong values of keys; upstream shows what is in them. */
function printKey(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printKey).join(',')}]`
  if (!isMap(value)) return toJson(value)
  return Object.keys(value)
    .sort()
    .map((name) => `${name}=${printKey(value[name])}`)
    .join('')
}
export const printPath = (path: PathElement[]): string => path.map(printElement).join('')
