import type { FieldError } from '../validation/field-errors.ts'

/** What upstream prints for the path of a whole object. */
export const NO_FIELD = '<nil>'

/** A value of the wrong JSON type; `value` is the name of the type that was found. */
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field,
  value,
  detail,
})
