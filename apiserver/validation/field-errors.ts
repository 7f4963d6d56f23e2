/**
 * Upstream's field.ErrorList: what is wrong, where, in the words kubectl prints.
 * Paths are written as upstream writes them: `spec.containers[0].ports[0].containerPort`, `metadata.labels[a.b/c]`.
 */
export type FieldErrorType =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueDuplicate'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

export interface FieldError {
  type: FieldErrorType
  field: string
  /** The bad value, printed as JSON in the message; absent for Required and Forbidden. */
  value?: unknown
  detail: string
  /** Name of the server's limit that was reached. */
  limit?: string
}
export type FieldErrors = FieldError[]
