import { expressionProblem, type Scope, webhookScope } from '../../../cel/request-expression.ts'
import { duplicate, invalid, required, tooMany } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { qualifiedName } from '../../../validation/names.ts'
import { repetition } from '../../../validation/repetition.ts'
import { refuseExpression } from './refuse-expression.ts'

export interface MatchCondition {
  name?: string
  expression?: string
}

const maxConditions = 64

/** Expressions of which each must hold. Upstream: pkg/apis/admissionregistration/validation. */
export function validateMatchConditions(
  conditions: readonly MatchCondition[],
  path: string,
  errors: FieldErrors,
  scope: Scope = webhookScope,
): void {
  if (conditions.length > maxConditions) errors.push(tooMany(path, conditions.length, maxConditions))
  const isRepeated = repetition()
  for (const [index, { name = '', expression = '' }] of conditions.entries()) {
    const at = `${path}[${index}]`
    if (expression.trim() === '') errors.push(required(`${at}.expression`))
    else {
      const trimmed = expression.trim()
      refuseExpression(expressionProblem(trimmed, 'bool', scope), `${at}.expression`, trimmed, errors)
    }
    if (name === '') errors.push(required(`${at}.name`))
    else {
      for (const message of qualifiedName(name)) errors.push(invalid(`${at}.name`, name, message))
      if (isRepeated(name)) errors.push(duplicate(`${at}.name`, name))
    }
  }
}
