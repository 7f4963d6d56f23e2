/**
 * The most that an expression can cost, by its types and the sizes of the schema.
 * Upstream: cel-go's checker/cost.go, with all of its oddities, since they decide which definitions are accepted.
 */
import {
  ACCUMULATOR,
  type Bind,
  type Call,
  type Comprehension,
  type Expr,
  type Ident,
  type Let,
  type List,
  type MapExpr,
  qualifiedName,
  type Select,
  type StructExpr,
  type Visitor,
  visit,
} from '../ast.ts'
import { TYPE_NAMES } from '../checker.ts'
import { LIST, MAP, STRUCT } from '../cost-units.ts'
import { functions } from '../library/index.ts'
import { characters } from '../library/text.ts'
import { BOOL, type CelType, DYN, isDyn, isOptional, optionalOf } from '../types.ts'
import { estimateCall } from './call-estimates.ts'
import type { Operand, Path, Surroundings } from './estimated-call.ts'
import { add, fixed, MAX, type Size, times, UNKNOWN, union } from './ranges.ts'
import { KEY, type SchemaSize } from './schema-size.ts'

/** Bounds the items of a list, or the keys and values of a map. */
interface EntrySize {
  list: boolean
  key: Size
  value: Size
}
interface Local {
  path: Path
  size?: Size
  entry?: EntrySize
}
export const estimateCost = (expr: Expr, schema: SchemaSize): number => new Estimator(schema).cost(expr)

class Estimator implements Surroundings, Visitor<number> {
  readonly #schema: SchemaSize
  readonly #paths = new Map<Expr, Path>()
  readonly #sizes = new Map<Expr, Size>()
  readonly #entries = new Map<Expr, EntrySize>()
  readonly #locals = new Map<string, Local[]>()

  constructor(schema: SchemaSize) {
    this.#schema = schema
  }

  cost(expr: Expr): number {
    return visit(expr, this)
  }

  literal(): number {
    return 0
  }
  ident(expr: Ident): number {
    this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name])
    return 1
  }
  struct({ fields }: StructExpr): number {
    return fields.reduce((sum, { value }) => add(sum, this.cost(value)), STRUCT)
  }
  bind(expr: Bind): number {
    return this.cost(expanded(expr))
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }
  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name)
    if (stack) stack.push(local)
    else this.#locals.set(name, [local])
  }
  #pop(name: string): void {
    this.#locals.get(name)!.pop()
  }

  select(expr: Select): number {
    const { operand, field, test, optional } = expr
    const qualified = test === true ? undefined : qualifiedName(expr)
    if (qualified !== undefined && TYPE_NAMES.has(qualified)) {
      this.#paths.set(expr, [qualified])
      return 1
    }
    const sum = this.cost(operand)
    if (test === true) return sum
    if (optional === true) return add(sum, 1)
    const { kind } = operand.type!
    this.#paths.set(expr, [...this.pathOf(operand), field])
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(sum, 1) : sum
  }

  call(expr: Call): number {
    const { name, target, args, overloads = [] } = expr
    if (name === 'dyn') {
      const sum = this.cost(args[0]!)
      this.#copySizes(expr, args[0]!)
      return add(sum, 1)
    }
    const costs = args.map((arg) => this.cost(arg))
    const operands = args.map((arg) => this.#operand(arg))
    if (overloads.length === 0 && name !== '_&&_' && name !== '_||_') return 0
    const sum = target === undefined ? 0 : this.cost(target)
    const of = target === undefined ? undefined : this.#operand(target)
    if (name === '_&&_' || name === '_||_') return add(costs[0]!, costs[1]!)
    if (name === '_?_:_') return this.#conditional(expr, costs, operands)
    const all = costs.reduce(add, 0)
    let most = 0
    let size: Size | undefined
    for (const { params } of overloads) {
      const found = estimateCall({ name, params, target: of, args: operands, estimator: this, expr })
      most = Math.max(most, add(found.cost, all))
      if (found.size !== undefined) size = size === undefined ? found.size : union(size, found.size)
      size = this.#indexed(expr, params[0]?.kind, size) ?? this.sizeOf(expr)
    }
    if (size !== undefined) this.#sizes.set(expr, size)
    return add(sum, most)
  }

  /** Returns the size that the schema declares for an item of a list or a map. */
  #indexed(expr: Call, kind: string | undefined, size: Size | undefined): Size | undefined {
    if (expr.name !== '_[_]' || (kind !== 'list' && kind !== 'map')) return size
    const [container] = expr.args
    this.#paths.set(expr, [...this.pathOf(container!), kind === 'list' ? '@items' : '@values'])
    return this.entryOf(container!)?.value
  }

  #conditional(expr: Call, [condition, whenTrue, whenFalse]: number[], [, one, other]: Operand[]): number {
    this.uniteEntries(expr, one!.expr, other!.expr)
    this.#sizes.set(expr, union(one!.size ?? UNKNOWN, other!.size ?? UNKNOWN))
    return add(condition!, Math.max(whenTrue!, whenFalse!))
  }

  list(expr: List): number {
    let sum = LIST
    let value: Size = { min: expr.elements.length === 0 ? 0 : MAX, max: 0 }
    for (const element of expr.elements) {
      sum = add(sum, this.cost(element.value))
      value = union(value, this.sizeOf(element.value) ?? UNKNOWN)
    }
    this.#entries.set(expr, { list: true, key: fixed(1), value })
    return sum
  }

  map(expr: MapExpr): number {
    let sum = MAP
    let key: Size = { min: expr.entries.length === 0 ? 0 : MAX, max: 0 }
    let value = key
    for (const entry of expr.entries) {
      sum = add(add(sum, this.cost(entry.key)), this.cost(entry.value))
      key = union(key, this.sizeOf(entry.key) ?? UNKNOWN)
      value = union(value, this.sizeOf(entry.value) ?? UNKNOWN)
    }
    this.#entries.set(expr, { list: false, key, value })
    return sum
  }

  comprehension(expr: Comprehension): number {
    const { range, init, condition, step, result, first, second } = expr
    let sum = add(this.cost(range), this.cost(init))
    this.#pushValue(ACCUMULATOR, init)
    this.#pushItems(range, first, second)
    const each = add(condition === undefined ? 0 : this.cost(condition), this.cost(step))
    this.#pop(first)
    if (second !== undefined) this.#pop(second)
    sum = add(sum, this.cost(result))
    this.#pop(ACCUMULATOR)
    const items = this.sizeOf(range) ?? UNKNOWN
    sum = add(sum, times(items.max, each))
    if (init.kind === 'literal') {
      const size = this.sizeOf(init)
      if (size !== undefined) this.#sizes.set(expr, size)
    } else if (init.kind === 'list' || init.kind === 'map') {
      this.#sizes.set(expr, items)
      const entry = this.entryOf(step)
      if (entry !== undefined) this.#entries.set(expr, entry)
    }
    return sum
  }

  #pushItems(range: Expr, first: string, second: string | undefined): void {
    const entry = this.entryOf(range)
    const list = entry?.list ?? range.type!.kind === 'list'
    const path = this.pathOf(range)
    const value: Local = { path: [...path, list ? '@items' : '@values'], size: entry?.value }
    const key: Local = { path: [...path, list ? '@indices' : '@keys'], size: entry?.key }
    this.#push(first, second === undefined && list ? value : key)
    if (second !== undefined) this.#push(second, value)
  }
  #pushValue(name: string, value: Expr): void {
    this.#push(name, { path: this.pathOf(value), size: this.sizeOf(value), entry: this.entryOf(value) })
  }

  /** Upstream has a macro here that goes over an empty list. */
  let(expr: Let): number {
    const sum = add(LIST, this.cost(expr.value))
    this.#pushValue(expr.name, expr.value)
    const inner = this.cost(expr.body)
    this.#pop(expr.name)
    this.#copySizes(expr, expr.body)
    return add(sum, inner)
  }

  pathOf(expr: Expr): Path {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined
    return local?.path ?? this.#paths.get(expr) ?? []
  }
  #operand(expr: Expr): Operand {
    return { expr, type: expr.type ?? DYN, path: this.pathOf(expr), size: this.sizeOf(expr) }
  }

  sizeOf(expr: Expr): Size | undefined {
    const known = this.#sizes.get(expr) ?? sizeOfLiteral(expr)
    if (known !== undefined) return known
    const declared = this.declaredSize(this.pathOf(expr))
    if (declared !== undefined) {
      this.#sizes.set(expr, declared)
      return declared
    }
    if (isScalar(expr.type ?? DYN)) return fixed(1)
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined
  }
  entryOf(expr: Expr): EntrySize | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entry : undefined)
  }
  /** Entries of either, if both are known. */
  uniteEntries(expr: Expr, one: Expr, other: Expr): void {
    const [left, right] = [this.entryOf(one), this.entryOf(other)]
    if (left === undefined || right === undefined) return
    this.#entries.set(expr, {
      list: left.list,
      key: union(left.key, right.key),
      value: union(left.value, right.value),
    })
  }
  #copySizes(to: Expr, from: Expr): void {
    const [size, entry] = [this.sizeOf(from), this.entryOf(from)]
    if (size !== undefined) this.#sizes.set(to, size)
    if (entry !== undefined) this.#entries.set(to, entry)
  }

  /** Returns the declared size of the value at a path, whose first step is the schema's value, whatever its name. */
  declaredSize(path: Path): Size | undefined {
    if (path.length === 0) return undefined
    let at: SchemaSize | undefined = this.#schema
    for (const name of path.slice(1)) {
      if (name === '@items' || name === '@values') at = at.items ?? at.entries
      else if (name === '@keys') at = at.entries && KEY
      else at = at.fields?.get(name)
      if (at === undefined) return undefined
    }
    return { min: 0, max: at.maxElements }
  }
}

function sizeOfLiteral(expr: Expr): Size | undefined {
  if (expr.kind === 'list') return fixed(expr.elements.length)
  if (expr.kind === 'map') return fixed(expr.entries.length)
  if (expr.kind !== 'literal') return undefined
  if (typeof expr.value === 'string') return fixed(characters(expr.value))
  return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1)
}

const SCALARS = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])
const isScalar = (type: CelType): boolean =>
  SCALARS.has(type.kind) || (isOptional(type) && isScalar(type.params[0] ?? DYN))

/** `optional.hasValue() ? optional.of(<name for optional.value(), in the body>) : optional.none()`, or flat without of(). */
function expanded({ optional, name, body, flat, at, type = DYN }: Bind): Expr {
  const inner = isDyn(optional.type!) ? DYN : (optional.type!.params[0] ?? DYN)
  const call = (name: string, result: CelType, parts: Partial<Call>): Call => ({
    kind: 'call',
    name,
    args: [],
    overloads: functions.find(name),
    at,
    type: result,
    ...parts,
  })
  const value = call('value', inner, { target: optional })
  const bound: Let = { kind: 'let', name, value, body, at, type: body.type }
  const whenTrue = flat ? bound : call('optional.of', optionalOf(body.type ?? DYN), { args: [bound] })
  const condition = call('hasValue', BOOL, { target: optional })
  return call('_?_:_', type, { args: [condition, whenTrue, call('optional.none', optionalOf(DYN), {})] })
}
