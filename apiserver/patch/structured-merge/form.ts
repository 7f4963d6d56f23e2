import type { Type } from './schema.ts'

export type Form = 'scalar' | 'list' | 'map'
/**
 * Which of the type's forms a value has; null and absent take the form of what they are compared with, else the type's
 * first.
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
