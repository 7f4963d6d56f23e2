import { convertDyn } from '../../cel/json-values.ts'
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
import { seenObjects } from '../seen-object.ts'

/**
 * Returns the variables that expressions see of a request, with the objects in the version of `matched`. Rejects with a
 * StatusError if an object cannot be converted to that version.
 */
export async function requestVariables(
  attributes: AdmissionAttributes,
  matched: ResourceDefinition,
): Promise<Variables> {
  const { object, oldObject } = await seenObjects(attributes, matched)
  const described = requestOf(attributes, matched, '')
  return Object.defineProperties(
    { namespaceObject: null },
    {
      ...celObject('object', object),
      ...celObject('oldObject', oldObject),
      ...celObject('request', described),
    },
  )
}

/** Describes a variable whose JSON value is converted when an expression asks for it. */
export function celObject(name: string, json: unknown): PropertyDescriptorMap {
  let value: unknown
  let isKnown = false
  const get = (): unknown => {
    if (!isKnown) value = convertDyn(json)
    isKnown = true
    return value
  }
  return { [name]: { get, enumerable: true } }
}

/** Returns the variables and more, without asking for values. */
export const withVariables = (variables: Variables, more: PropertyDescriptorMap): Variables =>
  Object.create(variables, more)
/** Returns the variables and others, whose values are known. */
export const withValues = (variables: Variables, values: Variables): Variables =>
  Object.assign(Object.create(variables, Object.fromEntries(Object.keys(values).map((name) => [name, OWN]))), values)
/** A property of its own, whatever the prototype has. */
const OWN: PropertyDescriptor = { value: undefined, writable: true, enumerable: true }

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
