/**
 * Returns whether two JSON values are equal. The order of keys is ignored, and an undefined member equals an absent
 * one. To `equals` (json-map.ts) and to isDeepStrictEqual of node:util, an undefined member is a difference.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index++) if (!deepEqual(a[index], b[index])) return false
    return true
  }
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  let members = 0
  for (const key in left) {
    if (left[key] === undefined) continue
    if (!deepEqual(left[key], right[key])) return false
    members++
  }
  for (const key in right) if (right[key] !== undefined) members--
  return members === 0
}
