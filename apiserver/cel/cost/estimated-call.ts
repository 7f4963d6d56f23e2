import type { Expr } from '../ast.ts'
import type { CelType } from '../types.ts'
import type { Size } from './ranges.ts'

/** Steps from a variable to a value: `self`, then names of fields, `@items`, `@keys`, `@values`. */
export type Path = readonly string[]
/** An argument of a call. */
export interface Operand {
  expr: Expr
  type: CelType
  path: Path
  /** undefined: nothing is known of it. */
  size: Size | undefined
}
/** What an estimator knows of the expression around a call. */
export interface Surroundings {
  /** What the schema says of the value at a path. */
  declaredSize(path: Path): Size | undefined
  /** The items of an expression are those of two others, if both are known. */
  uniteEntries(expr: Expr, one: Expr, other: Expr): void
}
export interface EstimatedCall {
  name: string
  /** Of the overload. */
  params: readonly CelType[]
  target: Operand | undefined
  args: readonly Operand[]
  estimator: Surroundings
  expr: Expr
}
