import { duplicate, notSupported, required, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { conditionReason, qualifiedName } from '../../validation/names.ts'
import { reject, validateNotNegative } from './messages.ts'

/** A condition of the type that most kinds share, as a client wrote it. */
export interface Condition {
  type?: string
  status?: string
  observedGeneration?: number
  lastTransitionTime?: unknown
  reason?: string
  message?: string
}

const statuses = ['False', 'True', 'Unknown']
const notNegative = 'must be greater than or equal to zero'
const max = { reason: 1024, message: 32 * 1024 }

/** Adds what is wrong with conditions of the common type. Upstream: ValidateConditions of apimachinery. */
export function validateConditions(
  conditions: readonly Condition[] | undefined,
  path: string,
  errors: FieldErrors,
): void {
  const seen = new Set<string>()
  for (const [index, condition] of (conditions ?? []).entries()) {
    const { type = '', status = '', observedGeneration, lastTransitionTime, reason = '', message = '' } = condition
    const at = `${path}[${index}]`
    if (seen.has(type)) errors.push(duplicate(`${at}.type`, type))
    seen.add(type)
    reject(errors, `${at}.type`, type, qualifiedName(type))
    if (!statuses.includes(status)) errors.push(notSupported(`${at}.status`, status, statuses))
    validateNotNegative(observedGeneration, `${at}.observedGeneration`, errors, notNegative)
    if (!lastTransitionTime) errors.push(required(`${at}.lastTransitionTime`))
    if (reason === '') errors.push(required(`${at}.reason`))
    else reject(errors, `${at}.reason`, reason, conditionReason(reason))
    if (Buffer.byteLength(reason) > max.reason) errors.push(tooLong(`${at}.reason`, max.reason))
    if (Buffer.byteLength(message) > max.message) errors.push(tooLong(`${at}.message`, max.message))
  }
}

/** Adds what is wrong with conditions of which only the type counts: that it is there, and there once. */
export function validateConditionTypes(conditions: readonly Condition[] | undefined, errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [index, { type = '' }] of (conditions ?? []).entries()) {
    const field = `status.conditions[${index}].type`
    if (seen.has(type)) errors.push(duplicate(field, type))
    seen.add(type)
    if (type === '') errors.push(required(field))
  }
}
