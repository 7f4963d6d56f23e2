/** Validates how much of a device's capacity one claim may take. Upstream: validateRequestPolicy. */
import { addQuantities, compareQuantities, quantityValue } from '../../../../shared/api/quantities/quantity.ts'
import { forbidden, invalid, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { validateItems } from './checks.ts'

interface Range {
  min?: string
  max?: string
  step?: string
}
export interface RequestPolicy {
  default?: string
  validValues?: string[]
  validRange?: Range
}

const maxValues = 10

export function validateRequestPolicy(
  policy: RequestPolicy,
  capacity: string,
  path: string,
  errors: FieldErrors,
): void {
  const { validValues = [], validRange } = policy
  if (validValues.length > 0 && validRange) {
    const detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
    errors.push(forbidden(path, detail))
    return
  }
  const field = validValues.length > 0 ? 'validValues' : validRange ? 'validRange' : undefined
  if (field === undefined) return
  if (!policy.default) errors.push(required(`${path}.default`, `required when ${field} is defined`))
  else if (validRange) validateRange(validRange, { capacity, chosen: policy.default }, `${path}.${field}`, errors)
  else validateValues(validValues, { capacity, chosen: policy.default }, `${path}.${field}`, errors)
}

interface Amounts {
  capacity: string
  chosen: string
}

function validateValues(values: string[], { capacity, chosen }: Amounts, path: string, errors: FieldErrors): void {
  for (const [index, value] of values.entries()) {
    if (index > 0 && compareQuantities(values[index - 1]!, value) > 0)
      errors.push(invalid(`${path}[${index}]`, value, 'values must be sorted in ascending order'))
  }
  validateItems(values, path, errors, {
    max: maxValues,
    check(value, at) {
      if (compareQuantities(value, capacity) > 0)
        errors.push(invalid(at, value, `option is larger than capacity value: ${capacity}`))
    },
    key: (value) => String(quantityValue(value)),
  })
  const hasChosen = values.length <= maxValues && values.some((value) => compareQuantities(value, chosen) === 0)
  if (!hasChosen) errors.push(invalid(path, chosen, 'default value is not valid according to the requestPolicy'))
}

function validateRange(range: Range, { capacity, chosen }: Amounts, path: string, errors: FieldErrors): void {
  const { min, max, step } = range
  const refuse = (field: keyof Range, value: string, detail: string): void => {
    errors.push(invalid(`${path}.${field}`, value, detail))
  }
  if (!min) {
    errors.push(required(`${path}.min`, 'required when validRange is defined'))
    return
  }
  const larger = (name: string): string => `${name} is larger than capacity value: ${capacity}`
  if (compareQuantities(min, capacity) > 0) refuse('min', min, larger('min'))
  if (compareQuantities(chosen, min) < 0) refuse('min', chosen, `default is less than min: ${min}`)
  if (max !== undefined) {
    if (compareQuantities(min, max) > 0) refuse('max', min, `min is larger than max: ${max}`)
    if (compareQuantities(max, capacity) > 0) refuse('max', max, larger('max'))
    if (compareQuantities(chosen, max) > 0) refuse('max', chosen, `default is more than max: ${max}`)
  }
  if (step === undefined) return
  const next = addQuantities(min, step)
  if (compareQuantities(next, capacity) > 0) refuse('step', step, larger(`one step ${next}`))
  const isStep = (value: string): boolean => (quantityValue(value) - quantityValue(min)) % quantityValue(step) === 0
  for (const value of [chosen, ...(max === undefined ? [] : [max])])
    if (!isStep(value)) refuse('step', value, `value is not a multiple of a given step (${step}) from (${min})`)
}
