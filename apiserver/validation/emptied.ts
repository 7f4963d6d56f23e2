/**
 * Remembers what a client wrote as `[]` or `{}`, or as bytes without any. The object lacks it, as Go leaves it out when
 * it encodes the object; but messages show it, and where it is still encoded, as null, its writer owns the field.
 */
import type { KubeObject } from '../../shared/api/types.ts'
import type { FieldErrors } from './field-errors.ts'

export interface Emptied {
  at: Record<string, unknown>
  name: string
  /** Holds an empty list or map; an empty text for bytes. */
  value: unknown
  /** True if the field is encoded as null. */
  isShown: boolean
}
const key = Symbol('emptied')

export function noteEmptied(object: object, emptied: readonly Emptied[]): void {
  Object.defineProperty(object, key, { value: emptied })
}

const emptiedOf = (object: object): readonly Emptied[] => (object as { [key]?: Emptied[] })[key] ?? []

/** Returns whether the client wrote a list or a map that the object lacks. */
export const hasEmptied = (object: object): boolean => emptiedOf(object).length > 0

/** Calls `act` while the object has its empty lists and maps, or those that `isWanted`. */
export function withEmptied<T>(object: object, act: () => T, isWanted: (emptied: Emptied) => boolean = () => true): T {
  const put = emptiedOf(object).filter((emptied) => (emptied.at[emptied.name] ?? null) === null && isWanted(emptied))
  for (const { at, name, value } of put) at[name] = value
  try {
    return act()
  } finally {
    for (const { at, name, isShown } of put) {
      if (isShown) at[name] = null
      else delete at[name]
    }
  }
}

/** Returns the errors with the values that the client wrote. `validate` finds the same errors again. */
export function errorsAsWritten(object: KubeObject, errors: FieldErrors, validate: () => FieldErrors): FieldErrors {
  if (errors.length === 0 || emptiedOf(object).length === 0) return errors
  const again = withEmptied(object, validate)
  const isSame = again.length === errors.length && again.every(({ field }, index) => field === errors[index]!.field)
  return isSame ? again : errors
}
