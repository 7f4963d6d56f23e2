import type { Expr } from '../ast.ts'
import type { CelType } from '../types.ts'
import type { Size } from './ranges.ts'

/** Steps from a variable to a value: `self`, then names of fields, `@items`, `@keys`, `@values`. */
export type Path = readonly string[]
export interface Operand {
  expr: Expr
  type: CelType
  path: Path
  /** Bounds the size of the result; undefined if nothing is known of it. */
  size: Size | undefined
}
/** Offers the estimator's knowledge of the expression around a call. */
export interface Surroundings {
  /** Returns the size that the schema declares for the value at a path; undefined if the schema declares none. */
  declaredSize(path: Path): Size | undefined
  /** Records that the items of `expr` come from `one` and `other`. Does nothing unless the items of both are known. */
  uniteEntries(expr: Expr, one: Expr, other: Expr): void
}
export interface EstimatedCall {
  name: string
  /** Lists the parameters of the overload that the call resolves to. */
  params: readonly CelType[]
  target: Operand | undefined
  args: readonly Operand[]
  estimator: Surroundings
  expr: Expr
}
