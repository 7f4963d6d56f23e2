import type { FieldError } from '../validation/field-errors.ts'

/** The path that upstream prints for a whole object. */
export const NO_FIELD = '<nil>'

/** Returns the error for a value of the wrong JSON type. `value` is the name of the type that was found. */
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field,
  value,
  detail,
})
