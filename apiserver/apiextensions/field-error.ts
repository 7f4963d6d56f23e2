import type { FieldError } from '../validation/field-errors.ts'

/** What is wrong with a field, in upstream's classes; an empty path is what upstream prints as `<nil>`. */
const at = (path: string): string => (path === '' ? '<nil>' : path)

export const required = (path: string, detail = ''): FieldError => ({
  type: 'FieldValueRequired',
  field: at(path),
  detail,
})
export const invalid = (path: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: at(path),
  value,
  detail,
})
export const typeInvalid = (path: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field: at(path),
  value,
  detail,
})
export const forbidden = (path: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field: at(path),
  detail,
})
export const duplicate = (path: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field: at(path),
  value,
  detail: '',
})
export const notSupported = (path: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'FieldValueNotSupported',
  field: at(path),
  value,
  detail: `supported values: ${supported.map((name) => JSON.stringify(name)).join(', ')}`,
})
export const tooLong = (path: string, max: number): FieldError => ({
  type: 'FieldValueTooLong',
  field: at(path),
  detail: `may not be more than ${max} bytes`,
})
export const tooMany = (path: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field: at(path),
  value: actual,
  detail: `must have at most ${max} items`,
})
