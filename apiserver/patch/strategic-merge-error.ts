import { StatusError } from '../../shared/api/status/status-error.ts'
import { plainError } from '../../shared/api/status/status-errors.ts'
import { printType, printValue } from './structured-merge/go-print.ts'

/** The patch is malformed in a way that the server answers as the client's mistake. */
export const badFormat = (what: 'primitive list' | 'retainKeys' | 'setElementOrder list'): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message: `invalid patch format of ${what}` })

export const listOfLists = (): StatusError =>
  new StatusError({ code: 422, reason: 'Invalid', message: 'lists of lists are not supported' })

export const noMergeKey = (item: unknown, mergeKey: string): StatusError =>
  plainError(`map: ${printValue(item)} does not contain declared merge key: ${mergeKey}`)

export const badArgument = (expected: string, value: unknown): StatusError =>
  plainError(`expected a ${expected}, but received a ${value === null ? '%!s(<nil>)' : printType(value)}`)

export function unknownDirective(directive: unknown, item: unknown): StatusError {
  const text = typeof directive === 'string' ? directive : `%!s(${printType(directive)}=${printValue(directive)})`
  return plainError(`unknown patch type: ${text} in map: ${printValue(item)}`)
}
