import { CelCancelled, CelError } from '../../cel/errors.ts'
import type { Budget } from '../../cel/meter.ts'
import type { PolicyScopes } from '../../cel/policy-scopes.ts'
import { compileExpression, type Variables } from '../../cel/request-expression.ts'
import type { Variable } from './policy.ts'

/**
 * Each is found out when an expression asks for it, and once; it may ask for those before it.
 * A plain Map but for its `get` and `has`.
 */
export function lazyVariables(
  variables: readonly Variable[],
  scopes: PolicyScopes,
  known: Variables,
  budget: Budget,
): Map<string, unknown> {
  const values = new Map<string, unknown>()
  if (variables.length === 0) return values
  const indexes = new Map(variables.map(({ name }, index) => [name, index]))
  const found = values.get.bind(values)
  const isFound = values.has.bind(values)
  const all = { ...known, variables: values }
  const get = (name: string): unknown => {
    const index = indexes.get(name)
    if (isFound(name) || index === undefined) return found(name)
    const value = evaluated(variables[index]!, () =>
      compileExpression(variables[index]!.expression, 'any', scopes.variables[index]!).evaluate(all, budget),
    )
    values.set(name, value)
    return value
  }
  return Object.assign(values, { get, has: (name: string) => indexes.has(name) })
}

function evaluated({ name }: Variable, evaluate: () => unknown): unknown {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof CelCancelled || !(error instanceof CelError)) throw error
    throw new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`)
  }
}
