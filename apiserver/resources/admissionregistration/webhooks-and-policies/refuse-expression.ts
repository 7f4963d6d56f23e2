import type { ExpressionProblem } from '../../../cel/request-expression.ts'
import { internal, invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'

/** Reports what is wrong with an expression, if anything is. */
export function refuseExpression(
  problem: ExpressionProblem | undefined,
  path: string,
  expression: string,
  errors: FieldErrors,
): void {
  if (problem === undefined) return
  const { text, isInternal } = problem
  errors.push(isInternal ? internal(path, text) : invalid(path, expression, text))
}
