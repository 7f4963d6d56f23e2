import type { Type } from './schema.ts'

/** Returns the maps that stand, at any depth, in lists that are owned as a whole. */
export function mapsInAtomicLists(type: Type, value: unknown): Set<object> {
  const found = new Set<object>()
  const walk = (type: Type | undefined, value: unknown, isInside: boolean): void => {
    if (!type || typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      const isAtomic = isInside || type.list?.atomic === true
      for (const item of value) walk(type.list?.element, item, isAtomic)
      return
    }
    if (isInside) found.add(value)
    for (const [key, below] of Object.entries(value))
      walk(type.map?.fields.get(key)?.type ?? type.map?.element, below, isInside)
  }
  walk(type, value, false)
  return found
}
