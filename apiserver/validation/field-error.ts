/** Upstream's constructors of field errors, and how a list of them becomes a 422. */
import { toJson } from '../../shared/api/json/exact-json.ts'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import { type GroupKind, invalid as invalidStatus } from '../../shared/api/status/status-errors.ts'
import { causeBytes, cutTo } from './cut-text.ts'
import type { FieldError, FieldErrors, FieldErrorType } from './field-errors.ts'

export const required = (field: string, detail = ''): FieldError => ({ type: 'FieldValueRequired', field, detail })
export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  value,
  detail,
})
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  value,
  detail: `supported values: ${supported.map((name) => JSON.stringify(name)).join(', ')}`,
})
export const forbidden = (field: string, detail: string): FieldError => ({ type: 'FieldValueForbidden', field, detail })
export const internal = (field: string, detail: string): FieldError => ({ type: 'InternalError', field, detail })
export const duplicate = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  value,
  detail: '',
})
export const notFound = (field: string, value: unknown, detail = ''): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  value,
  detail,
})
export const tooLong = (field: string, maxBytes: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  detail: `may not be more than ${maxBytes} bytes`,
})
export const tooMany = (field: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  value: actual,
  detail: `must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
})

const titles: Record<FieldErrorType, string> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueNotFound: 'Not found',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
}
const withoutValue = new Set<FieldErrorType>([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'InternalError',
])

/** `Invalid value: -1: must be …`: the error without its field. */
export function errorBody({ type, value, detail }: FieldError): string {
  const parts = [titles[type]]
  if (!withoutValue.has(type) && value !== OMITTED) parts.push(printValue(value))
  if (detail !== '') parts.push(detail)
  return parts.join(': ')
}

/** A value that prints itself otherwise than as JSON, e.g. a quantity inside a message. */
class Printed {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
/** A value that is too much to be shown. */
export const OMITTED = new Printed('')

const printValue = (value: unknown): string => {
  if (value instanceof Printed) return value.text
  return value === undefined ? 'null' : goJson(value)
}
/**
 * JSON as Go's encoder writes it: angle brackets and ampersands escaped in structures, plain in strings of their own.
 */
const goJson = (value: unknown): string => {
  const json = toJson(value)
  return typeof value === 'string'
    ? goQuoted(json)
    : json.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
}

/** Go quotes control characters in fewer letters than JSON does. */
const goQuoted = (json: string): string =>
  json.replace(/\\\\|\\u00([01].)|\x7f/g, (found, code) => {
    if (found === '\x7f') return '\\x7f'
    return code === '07' ? '\\a' : code === '0b' ? '\\v' : code ? `\\x${code}` : found
  })

/**
 * Returns a 422 that names every mistake once. If they are more than fit into `maxBytes`, it names the first ones and
 * how many there are. Without `maxBytes` only the answer has a limit, which is enough for a few errors.
 */
export function invalidObject(
  subject: GroupKind,
  name: string,
  errors: FieldErrors,
  maxBytes = Number.POSITIVE_INFINITY,
): StatusError {
  const messages = new Set<string>()
  const causes: { reason: string; message: string; field: string }[] = []
  let bytes = 0
  let limit: string | undefined
  for (const error of errors) {
    limit ??= error.limit
    const field = cutTo(error.field, maxBytes)
    const body = cutTo(errorBody(error), maxBytes)
    if (causes.length > 0 && bytes + causeBytes(field, body) > maxBytes) break
    messages.add(`${field}: ${body}`)
    causes.push({ reason: error.type, message: body, field })
    bytes += causeBytes(field, body)
  }
  const left = errors.length - causes.length
  if (left > 0) {
    messages.add(`and ${left} more errors`)
    limit = 'maxStatusCauseBytes'
  }
  const all = [...messages].join(', ')
  const message = messages.size === 1 ? all : `[${all}]`
  return invalidStatus(subject, name, message, causes).atLimit(limit)
}
