/** CEL expressions about requests: of webhooks' match conditions and of policies. */
import { compile, type Variables as Declared, type Program } from './environment.ts'
import { CelCancelled } from './errors.ts'
import { type Budget, OUT_OF_BUDGET } from './meter.ts'
import { type CelType, DYN, printType } from './types.ts'

/** Holds the variables that an expression may use. Values are CEL values as `convertDyn` returns them. */
export type Variables = Readonly<Record<string, unknown>>

export interface Expression {
  /** Throws the CelError of an expression that fails, and OutOfBudget if the cost exceeds the budget. */
  evaluate(variables: Variables, budget: Budget): unknown
}

/** Names the variables that match conditions of webhooks may use. */
export const conditionVariables: readonly string[] = ['object', 'oldObject', 'request', 'authorizer']
/**
 * Names the variables that policies may use. `authorizer` has no value: an expression that uses it fails at evaluation.
 */
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

/**
 * Returns why an expression does not compile; undefined if it compiles. `wanted` is the type that its value must have;
 * undefined allows any type.
 */
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
