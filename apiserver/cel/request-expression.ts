/** CEL expressions about requests: of webhooks' match conditions and of policies. */
import { type Additions, compile, type Variables as Declared, type Program } from './environment.ts'
import { CelCancelled } from './errors.ts'
import { jsonPatchType, objectType, patchAdditions } from './library/json-patch.ts'
import { type Budget, OUT_OF_BUDGET } from './meter.ts'
import { authorizerTypes, namespaceType, requestType } from './request-types.ts'
import { BOOL, type CelType, DYN, listOf, mapOf, NULL, printType, STRING, struct } from './types.ts'

/** Holds the variables that an expression may use. Values are CEL values as `convertDyn` returns them. */
export type Variables = Readonly<Record<string, unknown>>

export interface Expression {
  /** Throws the CelError of an expression that fails, and OutOfBudget if the cost exceeds the budget. */
  evaluate(variables: Variables, budget: Budget): unknown
}

/** Says what an expression may use. Scopes with the same ID are the same. */
export interface Scope {
  id: string
  variables: Declared
  additions?: Additions
}
interface ScopeOptions {
  params?: boolean
  /** True by default. */
  authorizer?: boolean
  /** Set for expressions that make patches. */
  patches?: boolean
  /** The types of a policy's variables; undefined if expressions see none. */
  composed?: ReadonlyMap<string, CelType>
  /** The type of `object` and `oldObject`, and that of `params`. Default: dyn. */
  objects?: { object?: CelType; params?: CelType }
}

export function scopeOf({ params, authorizer = true, patches, composed, objects = {} }: ScopeOptions): Scope {
  const { object = DYN } = objects
  const variables = new Map<string, CelType>([
    ['object', object],
    ['oldObject', object],
    ['namespaceObject', namespaceType],
    ['request', requestType],
    ...(params ? ([['params', objects.params ?? DYN]] as const) : []),
    ...(authorizer ? authorizerTypes : []),
    ...(composed ? ([['variables', struct('kubernetes.variables', composed)]] as const) : []),
  ])
  const known = composed && [...composed].map(([name, type]) => `${name}:${printType(type)}`)
  const flags = [params && 'params', authorizer && 'authorizer', patches && 'patches', known && `[${known.join()}]`]
  return { id: flags.filter(Boolean).join(), variables, ...(patches && { additions: patchAdditions }) }
}

/** Serves match conditions of webhooks. */
export const webhookScope = scopeOf({})

/** The type of a value that variables of a policy may have; others are dyn. */
export function composedType(type: CelType): CelType {
  if (type.kind === 'list') return listOf(composedType(type.params[0]!))
  if (type.kind === 'map') return mapOf(composedType(type.params[0]!), composedType(type.params[1]!))
  return type.kind === 'struct' || type.kind === 'opaque' || type.kind === 'type' ? DYN : type
}

/** Types of what expressions must yield. */
const wantedTypes = {
  bool: [BOOL],
  string: [STRING],
  annotation: [STRING, NULL],
  any: [],
  Object: [objectType],
  patches: [listOf(jsonPatchType)],
} as const satisfies Record<string, readonly CelType[]>
export type Wanted = keyof typeof wantedTypes

const maxKept = 1024
const kept = new Map<string, Expression>()

/** Compiles, once. Throws an Error whose message is the compiler's where it does not compile, or gives another type. */
export function compileExpression(source: string, wanted: Wanted, scope: Scope): Expression {
  const id = `${wanted} ${scope.id} ${source}`
  const known = kept.get(id)
  if (known) return known
  const compiled = compileFor(source, wanted, scope)
  if ('text' in compiled) throw new Error(compiled.text)
  const { program } = compiled
  const expression = { evaluate: (variables: Variables, budget: Budget) => paid(program, variables, budget) }
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

/** Says in upstream's words what is wrong with an expression. */
export interface ExpressionProblem {
  text: string
  /** Upstream calls it an internal error. */
  isInternal: boolean
}

/** Returns why an expression does not compile, or yields a value of another type; undefined if it is fine. */
export function expressionProblem(source: string, wanted: Wanted, scope: Scope): ExpressionProblem | undefined {
  const compiled = compileFor(source, wanted, scope)
  return 'text' in compiled ? compiled : undefined
}

/** Returns the program and its type, or what is wrong. */
export function compileFor(
  source: string,
  wanted: Wanted,
  { variables, additions }: Scope,
): { program: Program; type: CelType } | ExpressionProblem {
  const compiled = compile(source, variables, additions)
  if ('phase' in compiled) {
    const isInternal = compiled.phase === 'instantiation'
    return { text: `${isInternal ? 'program ' : ''}${compiled.phase} failed: ${compiled.text}`, isInternal }
  }
  const { type, program } = compiled
  const types: readonly CelType[] = wantedTypes[wanted]
  const found = nameOf(type)
  const names = types.map(nameOf)
  if (names.length === 0 || names.includes(found)) return { type, program }
  const expected = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`
  return { text: `must evaluate to ${expected} but got ${found}`, isInternal: false }
}
/** Names a type as cel-go does outside of the checker's messages. */
const nameOf = (type: CelType): string => (type.kind === 'null' ? 'null_type' : printType(type))
