/** metav1.LabelSelector as part of an object. */
import { forbidden, invalid, required } from './field-error.ts'
import type { FieldErrors } from './field-errors.ts'
import { labelValueMessages, qualifiedName } from './names.ts'
import { validateLabels } from './object-meta.ts'

export const NOT_AN_OPERATOR = 'not a valid selector operator'

export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: string, errors: FieldErrors): void {
  if (!selector) return
  validateLabels(selector.matchLabels, `${path}.matchLabels`, errors)
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`
    validateOperator(operator, values, at, errors)
    for (const message of qualifiedName(key)) errors.push(invalid(`${at}.key`, key, message))
    for (const [valueIndex, value] of values.entries()) {
      for (const message of labelValueMessages(value))
        errors.push(invalid(`${at}.values[${valueIndex}]`, value, message))
    }
  }
}

/** Validates the operator of a requirement, and that it has as many values as it needs. */
export function validateOperator(operator: string, values: readonly string[], path: string, errors: FieldErrors): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        errors.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
      break
    default:
      errors.push(invalid(`${path}.operator`, operator, NOT_AN_OPERATOR))
  }
}
