/** CEL expressions about requests: of webhooks' match conditions and of policies. */
import { compile, type Variables as Declared, type Program } from './environment.ts'
import { CelCancelled } from './errors.ts'
import { type Budget, OUT_OF_BUDGET } from './meter.ts'
import { type CelType, DYN, printType } from './types.ts'

/** What an expression may speak of. Values are what `convertDyn` makes of JSON. */
export type Variables = Readonly<Record<string, unknown>>

export interface Expression {
  /** Throws what goes wrong in it, and OutOfBudget when the budget could not pay for it. */
  evaluate(variables: Variables, budget: Budget): unknown
}

/** What match conditions of webhooks speak of. */
export const conditionVariables: readonly string[] = ['object', 'oldObject', 'request', 'authorizer']
/** The variables of policies. `authorizer` is missing here: an expression that uses it fails at evaluation. */
export const policyVariables: readonly string[] = [...conditionVariables, 'params', 'namespaceObject', 'variables']

const declared = new Map<string, Declared>()
function declarations(names: readonly string[]): Declared {
  const id = names.join()
  let known = declared.get(id)
  if (known === undefined) {
    known = new Map(names.map((name): [string, CelType] => [name, DYN]))
    declared.set(id, known)
  }
  return known
}

const maxKept = 1024
const kept = new Map<string, Expression>()

/** Compiles, once. Throws an Error whose message is the compiler's where it does not compile, or gives another type. */
export function compileExpression(source: string, wanted: string | undefined, names: readonly string[]): Expression {
  const id = `${wanted} ${names} ${source}`
  const known = kept.get(id)
  if (known) return known
  const compiled = compiledOr(source, wanted, names)
  if (typeof compiled === 'string') throw new Error(compiled)
  const expression = { evaluate: (variables: Variables, budget: Budget) => paid(compiled, variables, budget) }
  if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
  kept.set(id, expression)
  return expression
}

/** No expression that the budget is for runs after it. */
export class OutOfBudget extends CelCancelled {
  constructor(message = OUT_OF_BUDGET) {
    super(message)
  }
}
function paid(program: Program, variables: Variables, budget: Budget): unknown {
  let value: unknown
  try {
    value = program(variables, budget)
  } catch (error) {
    throw budget.isExceeded ? new OutOfBudget() : error
  }
  if (budget.isExceeded) throw new OutOfBudget()
  return value
}

/** Why an expression does not compile; undefined when it does. `wanted`: the type of its value; undefined: any. */
export function expressionProblem(
  source: string,
  wanted: string | undefined,
  names: readonly string[],
): string | undefined {
  const compiled = compiledOr(source, wanted, names)
  return typeof compiled === 'string' ? compiled : undefined
}

function compiledOr(source: string, wanted: string | undefined, names: readonly string[]): Program | string {
  const compiled = compile(source.trim(), declarations(names))
  if ('phase' in compiled) return `compilation failed: ${compiled.text}`
  const { type, program } = compiled
  return wanted === undefined || type === DYN || printType(type) === wanted
    ? program
    : `must evaluate to ${wanted} but got ${printType(type)}`
}
