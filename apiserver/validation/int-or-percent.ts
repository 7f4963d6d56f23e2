/** A number of pods or a share of them, e.g. `1` or `25%`. */
import { invalid } from './field-error.ts'
import type { FieldErrors } from './field-errors.ts'

export type IntOrPercent = number | string

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
const isPercent = (text: string): boolean => /^[0-9]+%$/.test(text)

/** The number of either form: of `25%` it is 25, and of the text `5`, which is refused elsewhere, 5. */
export const numberOf = (value: IntOrPercent | undefined): number =>
  typeof value === 'number' ? value : /^(?:[+-]?\d+|\d+%)$/.test(value ?? '') ? Number.parseInt(value ?? '', 10) : 0

export function validateIntOrPercent(value: IntOrPercent | undefined, field: string, errors: FieldErrors): void {
  if (typeof value === 'string') {
    if (!isPercent(value)) errors.push(invalid(field, value, PERCENT))
  } else if (value !== undefined && value < 0) {
    errors.push(invalid(field, value, 'must be greater than or equal to 0'))
  }
}

export function validateNotMoreThanAll(value: IntOrPercent | undefined, field: string, errors: FieldErrors): void {
  if (typeof value === 'string' && isPercent(value) && numberOf(value) > 100)
    errors.push(invalid(field, value, 'must not be greater than 100%'))
}
