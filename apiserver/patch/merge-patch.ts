/** RFC 7386: objects are merged, null deletes, everything else replaces. The target is changed and returned. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Record<string, unknown> = isObject(target) ? target : {}
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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
