import type { PodSpec } from '../../../shared/api/types.ts'
import { invalid, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { labelValueMessages, qualifiedName } from '../../validation/names.ts'
import { reject } from './messages.ts'

const operators = ['Equal', 'Exists']
/** Upstream knows these, behind a gate that is off. */
const comparisons = ['Lt', 'Gt']
export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function validateTolerations(
  tolerations: NonNullable<PodSpec['tolerations']>,
  path: string,
  errors: FieldErrors,
): void {
  for (const [index, toleration] of tolerations.entries()) {
    const at = `${path}[${index}]`
    const { key, operator = '', value = '', effect, tolerationSeconds } = toleration
    if (key) reject(errors, `${at}.key`, key, qualifiedName(key))
    if (!key && operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      errors.push(invalid(`${at}.operator`, operator, detail))
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(invalid(`${at}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    }
    if (operator === 'Equal' || operator === '') {
      const messages = labelValueMessages(value)
      if (messages.length > 0) errors.push(invalid(`${at}.operator`, value, messages.join(';')))
    } else if (operator === 'Exists') {
      if (value) errors.push(invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"))
    } else
      errors.push(
        notSupported(
          `${at}.operator`,
          operator,
          comparisons.includes(operator) ? [...operators, ...comparisons] : operators,
        ),
      )
    if (effect && !taintEffects.includes(effect)) errors.push(notSupported(`${at}.effect`, effect, taintEffects))
  }
}
