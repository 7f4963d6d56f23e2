import { limitOf } from '../../cel/errors.ts'
import { Budget } from '../../cel/meter.ts'
import { scopesOf } from '../../cel/policy-scopes.ts'
import { compileExpression, OutOfBudget, type Scope, type Variables } from '../../cel/request-expression.ts'
import { allHold, celError, withValues } from '../cel/match-conditions.ts'
import type { ValidatingAdmissionPolicy, Validation } from './policy.ts'
import { lazyVariables } from './variables.ts'

/** Says why a policy denies a request. */
export interface Violation {
  message: string
  reason?: string
  /** Name of the server's limit that was reached. */
  limit?: string
}

const maxMessage = 5120

/**
 * Returns the violations that a policy finds in one request, with one set of params. Upstream:
 * plugin/policy/validating/validator.go. One evaluation may cost `celSteps`.
 */
export function violations({ spec }: ValidatingAdmissionPolicy, known: Variables, celSteps: number): Violation[] {
  const { failurePolicy, matchConditions = [], variables = [], validations = [] } = spec
  const scopes = scopesOf(spec)
  const orElse = (why: string, error: unknown): Violation[] =>
    failurePolicy === 'Ignore' ? [] : [{ message: why, limit: limitOf(error) }]
  try {
    if (!allHold(matchConditions, withValues(known, { namespaceObject: null }), celSteps, scopes.condition)) return []
  } catch (error) {
    return orElse((error as Error).message, error)
  }
  const budget = Budget.forObject(celSteps)
  const all = withValues(known, { variables: lazyVariables(variables, scopes, known, budget) })
  try {
    return validations.flatMap((validation) => {
      const { expression, reason = 'Invalid' } = validation
      try {
        const holds = compileExpression(expression, 'bool', scopes.validation).evaluate(all, budget)
        return holds === true ? [] : [{ message: messageOf(validation, scopes.message, all, budget), reason }]
      } catch (error) {
        if (error instanceof OutOfBudget) throw error
        return orElse(`expression '${expression}' resulted in error: ${celError(error)}`, error)
      }
    })
  } catch (error) {
    if (error instanceof OutOfBudget) return orElse(error.message, error)
    throw error
  }
}

/** That of messageExpression if it is one line of text, else the message, else the expression. */
function messageOf(
  { expression, message, messageExpression }: Validation,
  scope: Scope,
  variables: Variables,
  budget: Budget,
): string {
  const said = messageExpression ? evaluated(messageExpression, scope, variables, budget) : undefined
  if (typeof said === 'string' && said.trim() !== '' && !said.includes('\n') && said.length <= maxMessage)
    return said.trim()
  return message?.trim() || `failed expression: ${expression.trim()}`
}

function evaluated(expression: string, scope: Scope, variables: Variables, budget: Budget): unknown {
  try {
    return compileExpression(expression, 'string', scope).evaluate(variables, budget)
  } catch (error) {
    if (error instanceof OutOfBudget) throw new OutOfBudget(`failed messageExpression: ${error.message}`)
    return undefined
  }
}
