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

/** Removes what is null in the objects of a list, as a real server's library does. Changes the value in place. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) for (const item of value) withoutNulls(item)
  else if (isMap(value)) {
    for (const key of Object.keys(value)) {
      if (value[key] === null) delete value[key]
      else withoutNulls(value[key])
    }
  }
  return value
}
