import { isMap } from '../values/json-map.ts'

/** RFC 7386: objects are merged, null deletes, everything else replaces. Target and patch are changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return withoutNulls(patch)
  const result: Record<string, unknown> = isMap(target) ? target : {}
  for (const key of Object.keys(patch)) {
    const value = patch[key]
    if (value === null) delete result[key]
    else {
      const merged = applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value)
      // `__proto__` is a key like any other.
      Object.defineProperty(result, key, { value: merged, enumerable: true, configurable: true, writable: true })
    }
  }
  return result
}

/**
 * Returns a value without what is null in its objects, as a real server's library reads the items of a list. It deletes
 * nothing: V8 keeps an object from which a key was deleted as a dictionary, which is large and slow.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isMap(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]))
}
