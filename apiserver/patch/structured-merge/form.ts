import type { Type } from './schema.ts'

export type Form = 'scalar' | 'list' | 'map'
/**
 * Returns the form of the type that a value has. A value that is null or absent takes the form of the value with which
 * it is compared; if both are, the type's first form.
 */
export function formOf(type: Type, value: unknown, other?: unknown): Form {
  const decisive = value ?? other
  if (decisive !== undefined && decisive !== null) {
    if (Array.isArray(decisive)) {
      if (type.list) return 'list'
    } else if (typeof decisive === 'object') {
      if (type.map) return 'map'
    } else if (type.scalar) return 'scalar'
  }
  return type.map ? 'map' : type.scalar ? 'scalar' : 'list'
}
