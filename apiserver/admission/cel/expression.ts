/** CEL expressions about requests: of webhooks' match conditions and of policies. */
import type * as Cel from '@marcbachmann/cel-js'
import { celLibrary, problemWith } from '../../apiextensions/cel/environment.ts'
import { withRe2 } from '../../apiextensions/cel/library.ts'

/** What an expression may speak of. Values are what `convertDyn` makes of JSON. */
export type Variables = Readonly<Record<string, unknown>>

export interface Expression {
  /** Throws what goes wrong in it. */
  evaluate(variables: Variables): unknown
}

/** What match conditions of webhooks speak of. */
export const conditionVariables: readonly string[] = ['object', 'oldObject', 'request', 'authorizer']
/** What policies speak of. Nobody can be asked through `authorizer` here: an expression that does fails when it is evaluated. */
export const policyVariables: readonly string[] = [...conditionVariables, 'params', 'namespaceObject', 'variables']

const environments = new Map<string, Cel.Environment>()

function environment(names: readonly string[]): Cel.Environment {
  const id = names.join()
  let env = environments.get(id)
  if (!env) {
    env = celLibrary().base.clone()
    for (const name of names) env.registerVariable(name, 'dyn')
    environments.set(id, env)
  }
  return env
}

const maxKept = 1024
const kept = new Map<string, Expression>()

/** Compiles, once. Throws an Error whose message is the compiler's where it does not compile, or gives another type. */
export function compileExpression(source: string, wanted: string | undefined, names: readonly string[]): Expression {
  const id = `${wanted} ${names} ${source}`
  const known = kept.get(id)
  if (known) return known
  const problem = expressionProblem(source, wanted, names)
  if (problem !== undefined) throw new Error(problem)
  const parsed = environment(names).parse(withRe2(source.trim()))
  const expression = { evaluate: (variables: Variables) => parsed({ ...variables }) as unknown }
  if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
  kept.set(id, expression)
  return expression
}

/** Why an expression does not compile; undefined when it does. `wanted`: the type of its value; undefined: any. */
export function expressionProblem(
  source: string,
  wanted: string | undefined,
  names: readonly string[],
): string | undefined {
  const problem = problemWith(environment(names), source.trim(), wanted)
  if (problem === undefined) return undefined
  return problem === 'type' ? `must evaluate to ${wanted}` : `compilation failed: ${problem}`
}
