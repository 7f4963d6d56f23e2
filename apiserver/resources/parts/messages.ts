/** Checks and messages that kinds share. */
import { invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { addressProblems } from '../../validation/ip.ts'
import { portName, portNumber } from '../../validation/names.ts'

export const between = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`
export const NOT_NEGATIVE = 'must be greater than or equal to 0'
export const MAX_INT32 = 2_147_483_647

/** Adds one Invalid error per message. */
export function reject(errors: FieldErrors, field: string, value: unknown, messages: string[]): void {
  for (const message of messages) errors.push(invalid(field, value, message))
}

export function validatePortNumOrName(port: number | string, field: string, errors: FieldErrors): void {
  reject(errors, field, port, typeof port === 'number' ? portNumber(port) : portName(port))
}

export function validateAddress(text: string, field: string, errors: FieldErrors): void {
  reject(errors, field, text, addressProblems(text))
}

export function validateNotNegative(
  value: number | undefined,
  field: string,
  errors: FieldErrors,
  message = NOT_NEGATIVE,
): void {
  if (value !== undefined && value < 0) errors.push(invalid(field, value, message))
}

/** Checks that a value that is given is one of those that are supported. */
export function validateChoice(
  value: string | undefined,
  supported: readonly string[],
  field: string,
  errors: FieldErrors,
): void {
  if (value !== undefined && !supported.includes(value)) errors.push(notSupported(field, value, supported))
}
export function validateRequiredChoice(
  value: string | undefined,
  supported: readonly string[],
  field: string,
  errors: FieldErrors,
  detail?: string,
): void {
  if (!value) errors.push(required(field, detail))
  else validateChoice(value, supported, field, errors)
}

const hasBackstep = (path: string) => path.split('/').includes('..')
export function validateNoBacksteps(path: string, field: string, errors: FieldErrors): void {
  if (hasBackstep(path)) errors.push(invalid(field, path, "must not contain '..'"))
}
/** Checks that `path` stays inside a volume: a relative path without `..` segments. */
export function validateLocalPath(path: string, field: string, errors: FieldErrors): void {
  if (path.startsWith('/')) errors.push(invalid(field, path, 'must be a relative path'))
  validateNoBacksteps(path, field, errors)
}
/**
 * Checks that `path` stays inside a volume and does not begin with `..`, a prefix that is reserved for the kubelet's
 * own files.
 */
export function validateLocalNonReservedPath(path: string, field: string, errors: FieldErrors): void {
  validateLocalPath(path, field, errors)
  if (path.startsWith('..') && !path.startsWith('../')) errors.push(invalid(field, path, "must not start with '..'"))
}
