import { limitOf } from '../../cel/errors.ts'
import { Budget } from '../../cel/meter.ts'
import { scopesOf } from '../../cel/policy-scopes.ts'
import { compileExpression, OutOfBudget, type Scope, type Variables } from '../../cel/request-expression.ts'
import { allHold, celError } from '../cel/match-conditions.ts'
import type { AuditAnnotation, ValidatingAdmissionPolicy, Validation } from './policy.ts'
import { lazyVariables } from './variables.ts'

/** Says why a policy denies a request. */
export interface Violation {
  message: string
  reason?: string
  /** Place of the validation that does not hold. */
  index?: number
  /** Name of the server's limit that was reached. */
  limit?: string
}

/** Says what a policy finds in one request, with one set of params. */
export interface Findings {
  violations: Violation[]
  /** Holds why values of annotations are not known. They deny the request whatever the actions of the binding are. */
  errors: Violation[]
  /** Holds keys and values for the audit event. */
  annotations: readonly (readonly [string, string])[]
}

const maxMessage = 5120
const nothing = { violations: [], errors: [], annotations: [] }

/** Asks one policy. Upstream: plugin/policy/validating/validator.go. One evaluation may cost `celSteps`. */
export function findings(policy: ValidatingAdmissionPolicy, known: Variables, celSteps: number): Findings {
  const { spec } = policy
  const { failurePolicy, matchConditions = [], variables = [], validations = [], auditAnnotations = [] } = spec
  const scopes = scopesOf(spec)
  const orElse = (why: string, error: unknown): Violation[] =>
    failurePolicy === 'Ignore' ? [] : [{ message: why, limit: limitOf(error) }]
  try {
    const seen = { ...known, namespaceObject: null }
    if (!allHold(matchConditions, seen, celSteps, scopes.condition)) return nothing
  } catch (error) {
    return { ...nothing, violations: orElse((error as Error).message, error) }
  }
  const budget = Budget.forObject(celSteps)
  const all = { ...known, variables: lazyVariables(variables, scopes, known, budget) }
  try {
    const violations = validations.flatMap((validation, index) => {
      const { expression, reason = 'Invalid' } = validation
      try {
        const holds = compileExpression(expression, 'bool', scopes.validation).evaluate(all, budget)
        return holds === true ? [] : [{ message: messageOf(validation, scopes.message, all, budget), reason, index }]
      } catch (error) {
        if (error instanceof OutOfBudget) throw error
        const why = `expression '${expression}' resulted in error: ${celError(error)}`
        return orElse(why, error).map((violation) => ({ ...violation, index }))
      }
    })
    if (auditAnnotations.length === 0) return { ...nothing, violations }
    const { annotations, errors } = annotate(auditAnnotations, policy, known, celSteps)
    return { violations, annotations, errors: errors.flatMap(({ why, error }) => orElse(why, error)) }
  } catch (error) {
    if (error instanceof OutOfBudget) return { ...nothing, violations: orElse(error.message, error) }
    throw error
  }
}

/** Finds the values of annotations, with a budget of their own; blank ones are left out. */
function annotate(
  auditAnnotations: readonly AuditAnnotation[],
  { spec }: ValidatingAdmissionPolicy,
  known: Variables,
  celSteps: number,
) {
  const scopes = scopesOf(spec)
  const budget = Budget.forObject(celSteps)
  const all = { ...known, variables: lazyVariables(spec.variables ?? [], scopes, known, budget) }
  const annotations: [string, string][] = []
  const errors: { why: string; error: unknown }[] = []
  for (const { key, valueExpression } of auditAnnotations) {
    try {
      const value = compileExpression(valueExpression.trim(), 'annotation', scopes.validation).evaluate(all, budget)
      if (typeof value === 'string' && value.trim() !== '') annotations.push([key, value.trim()])
    } catch (error) {
      if (error instanceof OutOfBudget) throw error
      errors.push({ why: `expression '${valueExpression}' resulted in error: ${celError(error)}`, error })
    }
  }
  return { annotations, errors }
}

/** Returns what messageExpression says if it is one line of text, else the message, else the expression. */
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
