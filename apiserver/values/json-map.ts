import { isMap, type JsonMap } from '../../shared/api/json/json-map.ts'

export { isMap, type JsonMap }

/** A key of a map that clients name: `constructor` is a key like any other. */
export const own = (map: JsonMap, key: string): unknown => (Object.hasOwn(map, key) ? map[key] : undefined)
/** `__proto__` stays a key. */
export function put(map: JsonMap, key: string, value: unknown): void {
  if (key !== '__proto__') map[key] = value
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}

export function isEmptyMap(value: JsonMap): boolean {
  for (const _ in value) return false
  return true
}
/** Returns whether nothing is below the value: it is absent, null, {} or []. */
export const isBare = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) ? value.length === 0 : isMap(value) && isEmptyMap(value))

/**
 * As deepEqual (deep-equal.ts), but a key that is undefined is not one that is absent: field management sees which keys
 * there are.
 */
export function equals(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index++) if (!equals(a[index], b[index])) return false
    return true
  }
  if (Array.isArray(b)) return false
  const left = a as JsonMap
  const right = b as JsonMap
  let size = 0
  for (const key in left) {
    if (!equals(left[key], right[key])) return false
    size++
  }
  for (const _ in right) size-- // a key that only `right` has, or that `left` found in a prototype
  return size === 0
}

export function copy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy) as T
  const out = { ...value }
  for (const key in out) {
    const child = out[key]
    if (typeof child === 'object' && child !== null) out[key] = copy(child)
  }
  return out
}
