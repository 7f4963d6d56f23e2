import { convertDyn } from '../../cel/dyn-values.ts'
import { Budget } from '../../cel/meter.ts'
import {
  compileExpression,
  OutOfBudget,
  type Scope,
  type Variables,
  webhookScope,
} from '../../cel/request-expression.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { requestOf } from '../admission-review.ts'
import type { SeenObjects } from '../seen-object.ts'

/** Returns the variables that expressions see of a request, whose objects are `seen` in the version of `matched`. */
export const requestVariables = (
  attributes: AdmissionAttributes,
  matched: ResourceDefinition,
  { object, oldObject }: SeenObjects,
): Variables => ({
  object: convertDyn(object),
  oldObject: convertDyn(oldObject),
  request: convertDyn(requestOf(attributes, matched, '')),
  namespaceObject: null,
})

/**
 * Returns whether all conditions hold. Returns false if any condition is false, even if others fail; otherwise a
 * condition that fails throws an Error. One evaluation may cost `celSteps`.
 */
export function allHold(
  conditions: readonly { expression: string }[],
  variables: Variables,
  celSteps: number,
  scope: Scope = webhookScope,
): boolean {
  const problems: string[] = []
  const budget = Budget.forConditions(celSteps)
  for (const { expression } of conditions) {
    try {
      const holds = compileExpression(expression.trim(), 'bool', scope).evaluate(variables, budget)
      if (holds !== true) return false
    } catch (error) {
      if (error instanceof OutOfBudget) throw error
      problems.push(`expression '${expression}' resulted in error: ${celError(error)}`)
    }
  }
  if (problems.length === 0) return true
  throw new Error(problems.length === 1 ? problems.join('') : `[${problems.join(', ')}]`)
}

/** Returns the first line of an error's message. */
export function celError(error: unknown): string {
  const [text = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return text
}
