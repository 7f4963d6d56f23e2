import { limitOf } from '../../cel/errors.ts'
import { Budget } from '../../cel/meter.ts'
import { compileExpression, OutOfBudget, policyVariables, type Variables } from '../../cel/request-expression.ts'
import { allHold, celError } from '../cel/match-conditions.ts'
import type { ValidatingAdmissionPolicy, Validation, Variable } from './policy.ts'

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
  const orElse = (why: string, error: unknown): Violation[] =>
    failurePolicy === 'Ignore' ? [] : [{ message: why, limit: limitOf(error) }]
  try {
    if (!allHold(matchConditions, known, celSteps, policyVariables)) return []
  } catch (error) {
    return orElse((error as Error).message, error)
  }
  const budget = Budget.forObject(celSteps)
  const all = { ...known, variables: lazyVariables(variables, known, budget) }
  try {
    return validations.flatMap((validation) => {
      const { expression, reason = 'Invalid' } = validation
      try {
        const holds = compileExpression(expression, 'bool', policyVariables).evaluate(all, budget)
        return holds === true ? [] : [{ message: messageOf(validation, all, budget), reason }]
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
function messageOf({ expression, message, messageExpression }: Validation, variables: Variables, budget: Budget) {
  const said = messageExpression ? evaluated(messageExpression, variables, budget) : undefined
  if (typeof said === 'string' && said.trim() !== '' && !said.includes('\n') && said.length <= maxMessage)
    return said.trim()
  return message?.trim() || `failed expression: ${expression.trim()}`
}

function evaluated(expression: string, variables: Variables, budget: Budget): unknown {
  try {
    return compileExpression(expression, 'string', policyVariables).evaluate(variables, budget)
  } catch (error) {
    if (error instanceof OutOfBudget) throw new OutOfBudget(`failed messageExpression: ${error.message}`)
    return undefined
  }
}

/**
 * Each is found out when an expression asks for it, and once; it may ask for those before it.
 * A plain Map but for its `get`: CEL takes no subclass.
 */
function lazyVariables(variables: readonly Variable[], known: Variables, budget: Budget): Map<string, unknown> {
  const expressions = new Map(variables.map(({ name, expression }) => [name, expression]))
  const values = new Map<string, unknown>()
  const found = values.get.bind(values)
  const get = (name: string): unknown => {
    const expression = expressions.get(name)
    if (values.has(name) || expression === undefined) return found(name)
    const value = compileExpression(expression, undefined, policyVariables).evaluate(
      { ...known, variables: values },
      budget,
    )
    values.set(name, value)
    return value
  }
  return Object.assign(values, { get })
}
