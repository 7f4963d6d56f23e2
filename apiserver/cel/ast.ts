/**
 * The tree of an expression. `at` is the character that messages point to: the operator, the dot, the opening bracket.
 */

import type { Overload } from './overloads.ts'
import type { CelType } from './types.ts'

interface Base {
  at: number
  /** Set by the checker. */
  type?: CelType
}
export interface Literal extends Base {
  kind: 'literal'
  value: unknown
}
export interface Ident extends Base {
  kind: 'ident'
  name: string
}
export interface Select extends Base {
  kind: 'select'
  operand: Expr
  field: string
  /** `has(operand.field)` */
  test?: boolean
  /** `operand.?field` */
  optional?: boolean
}
export interface Call extends Base {
  kind: 'call'
  name: string
  target?: Expr
  args: Expr[]
  /** Set by the checker: the overloads whose parameters take these types. */
  overloads?: Overload[]
  /** `accumulator + [item]` of a macro: the accumulator is a list of its own, which may be extended in place. */
  append?: boolean
}
export interface List extends Base {
  kind: 'list'
  elements: { value: Expr; optional: boolean }[]
}
export interface MapExpr extends Base {
  kind: 'map'
  entries: { key: Expr; value: Expr; optional: boolean }[]
}
/** `Name{field: value}`: an object of a type that the environment declares. */
export interface StructExpr extends Base {
  kind: 'struct'
  name: string
  /** `at` is the colon behind the field's name. */
  fields: { name: string; value: Expr; optional: boolean; at: number }[]
}
/** A fold over a list's items or a map's keys; with `second`, over indexes and items, or keys and values. */
export interface Comprehension extends Base {
  kind: 'comprehension'
  range: Expr
  first: string
  second?: string
  init: Expr
  /** Decides whether the loop goes on; without it the loop always does. */
  condition?: Expr
  step: Expr
  result: Expr
  /** A quantifier goes on after an error, as long as another item could decide: `all` of the predicate, or `exists`. */
  quantifier?: { decidedBy: boolean; predicate: Expr }
}
/** `optional.optMap(name, body)` */
export interface Bind extends Base {
  kind: 'bind'
  optional: Expr
  name: string
  body: Expr
  /** The body is an optional itself. */
  flat: boolean
}
/** The body with a name for a value, which is found once. */
export interface Let extends Base {
  kind: 'let'
  name: string
  value: Expr
  body: Expr
}
export type Expr = Literal | Ident | Select | Call | List | MapExpr | StructExpr | Comprehension | Bind | Let

/** Handles each kind of expression by a method of its own. */
export type Visitor<T> = { [Kind in Expr['kind']]: (expr: Extract<Expr, { kind: Kind }>) => T }
export const visit = <T>(expr: Expr, visitor: Visitor<T>): T => (visitor[expr.kind] as (expr: Expr) => T)(expr)

/**
 * The accumulator variable of expanded macros has this name. No expression can use the name: it is not a valid
 * identifier.
 */
export const ACCUMULATOR = '@result'

/**
 * Returns the qualified name (`a.b.c`) of an expression that consists of names alone; undefined for any other
 * expression.
 */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.test === true || expr.optional === true) return undefined
  const prefix = qualifiedName(expr.operand)
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`
}
