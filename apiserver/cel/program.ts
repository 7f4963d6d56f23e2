/** A checked expression as functions that call one another: what its types decide is decided once. */

import {
  ACCUMULATOR,
  type Bind,
  type Call,
  type Comprehension,
  type Expr,
  type Ident,
  type Let,
  type List,
  type Literal,
  type MapExpr,
  type Select,
  type StructExpr,
  type Visitor,
  visit,
} from './ast.ts'
import { TYPE_NAMES } from './checker.ts'
import { comparisonCost, equalityCost, membershipCost, type RunCost, runCost } from './cost/actual.ts'
import { LIST, MAP, STRUCT } from './cost-units.ts'
import { CelError, noSuchOverload } from './errors.ts'
import { type Budget, charge, forgive, metered } from './meter.ts'
import type { Overload, Run } from './overloads.ts'
import type { CelType } from './types.ts'
import {
  compare,
  equal,
  fits,
  MadeObject,
  mapKey,
  Optional,
  StructValue,
  TypeValue,
  typeOfValue,
  Uint,
} from './values.ts'

/** Holds what an expression sees while it runs. */
interface Frame {
  variables: Readonly<Record<string, unknown>>
  /** Variables of macros, by their place. */
  locals: unknown[]
}
type Step = (frame: Frame) => unknown
/** The budget pays for the evaluation. */
export type Program = (variables: Readonly<Record<string, unknown>>, budget?: Budget) => unknown

/** Throws {@link CelError} when it runs. */
export function compileProgram(expr: Expr): Program {
  const step = new Compiler().compile(expr)
  return (variables, budget) => metered(budget, () => step({ variables, locals: [] }))
}

class Compiler implements Visitor<Step> {
  readonly #scope: string[] = []

  compile(expr: Expr): Step {
    return visit(expr, this)
  }

  literal({ value }: Literal): Step {
    return () => value
  }

  #within<T>(names: string[], work: (places: number[]) => T): T {
    const places = names.map((name) => this.#scope.push(name) - 1)
    try {
      return work(places)
    } finally {
      this.#scope.length -= names.length
    }
  }

  ident({ name }: Ident): Step {
    const place = this.#scope.lastIndexOf(name)
    if (place >= 0)
      return ({ locals }) => {
        charge(1)
        return locals[place]
      }
    const named = TYPE_NAMES.get(name)
    const asType = named && new TypeValue(named)
    return ({ variables }) => {
      if (asType === undefined) charge(1)
      const value = variables[name] ?? (name in variables ? variables[name] : asType)
      if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
      return value
    }
  }

  select(expr: Select): Step {
    const { field, test, optional } = expr
    if (expr.type?.kind === 'type' && test !== true && isTypeName(expr)) {
      const value = new TypeValue(expr.type.params[0]!)
      return () => value
    }
    const operand = this.compile(expr.operand)
    if (test === true) return (frame) => isSet(operand(frame), field)
    if (optional === true)
      return (frame) => {
        charge(1)
        return optionally(operand(frame), (value) => lookUp(value, field))
      }
    return (frame) => {
      charge(1)
      const value = operand(frame)
      if (value instanceof Optional) return optionally(value, (inner) => lookUp(inner, field))
      const found = lookUp(value, field)
      if (found === undefined) throw new CelError(`no such key: ${field}`)
      return found
    }
  }

  call(expr: Call): Step {
    const special = SPECIAL.get(expr.name)
    const parts = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    const steps = parts.map((part) => this.compile(part))
    const members = expr.name === '@in' ? constantMembers(expr.args[1]!) : undefined
    if (members !== undefined) return (frame) => members.has(mapKey(steps[0]!(frame)))
    if (special !== undefined) return special(...steps)
    if (expr.append === true) {
      const [accumulator, list] = steps as [Step, Step]
      return (frame) => {
        charge(1)
        const items = accumulator(frame) as unknown[]
        for (const item of list(frame) as unknown[]) items.push(item)
        return items
      }
    }
    const { run, cost } = dispatch(expr.name, expr.overloads ?? [], parts)
    return apply(steps, run, cost)
  }

  list(expr: List): Step {
    const { elements } = expr
    const constant = constantItems(expr)
    if (constant !== undefined) return () => constant
    const steps = elements.map(({ value, optional }) => ({ step: this.compile(value), optional }))
    return (frame) => {
      charge(LIST)
      const items: unknown[] = []
      for (const { step, optional } of steps) {
        const value = step(frame)
        const kept = optional ? presentValue(value) : value
        if (kept !== undefined) items.push(kept)
      }
      return items
    }
  }

  map(expr: MapExpr): Step {
    const { entries } = expr
    const constant = constantEntries(expr)
    if (constant !== undefined) return () => constant
    const steps = entries.map(({ key, value, optional }) => ({
      keyStep: this.compile(key),
      valueStep: this.compile(value),
      optional,
    }))
    return (frame) => {
      charge(MAP)
      const map = new Map<unknown, unknown>()
      for (const { keyStep, valueStep, optional } of steps) {
        const key = mapKey(keyStep(frame))
        const value = valueStep(frame)
        if (typeof key === 'object' || typeof key === 'number') throw new CelError('unsupported key type')
        const kept = optional ? presentValue(value) : value
        if (kept !== undefined) map.set(key, kept)
      }
      return map
    }
  }

  struct({ fields, type }: StructExpr): Step {
    const steps = fields.map(({ name, value, optional }) => ({ name, step: this.compile(value), optional }))
    return (frame) => {
      charge(STRUCT)
      const values = new Map<string, unknown>()
      for (const { name, step, optional } of steps) {
        const value = step(frame)
        const kept = optional ? presentValue(value) : value
        if (kept === undefined) values.delete(name)
        else values.set(name, kept)
      }
      return new MadeObject(type!, values)
    }
  }

  comprehension(expr: Comprehension): Step {
    const range = this.compile(expr.range)
    const init = this.#initial(expr.init)
    const perItem = expr.quantifier === undefined ? 0 : expr.quantifier.decidedBy ? 4 : 3
    const names = [ACCUMULATOR, expr.first, ...(expr.second === undefined ? [] : [expr.second])]
    return this.#within(names, ([accumulator, first, second]) => {
      const set = (frame: Frame, key: unknown, value: unknown): void => {
        frame.locals[first!] = key
        if (second !== undefined) frame.locals[second] = value
      }
      const each = (frame: Frame, visit: () => boolean): void =>
        eachOf(range(frame), second !== undefined, (key, value) => {
          charge(perItem)
          set(frame, key, value)
          return visit()
        })
      if (expr.quantifier !== undefined)
        return quantifier(this.compile(expr.quantifier.predicate), expr.quantifier.decidedBy, each)
      const step = this.compile(expr.step)
      const result = this.compile(expr.result)
      return (frame) => {
        let folded = init(frame)
        each(frame, () => {
          frame.locals[accumulator!] = folded
          folded = step(frame)
          return true
        })
        frame.locals[accumulator!] = folded
        return result(frame)
      }
    })
  }

  let({ name, value, body }: Let): Step {
    const given = this.compile(value)
    return this.#within([name], ([place]) => {
      const inner = this.compile(body)
      return (frame) => {
        frame.locals[place!] = given(frame)
        return inner(frame)
      }
    })
  }

  /** Compiles the initial value of a fold: a new empty list or map each time, since the fold extends it in place. */
  #initial(init: Expr): Step {
    if (init.kind === 'list' && init.elements.length === 0) return () => []
    if (init.kind === 'map' && init.entries.length === 0) return () => new Map()
    return this.compile(init)
  }

  bind({ optional, name, body, flat }: Bind): Step {
    const given = this.compile(optional)
    return this.#within([name], ([place]) => {
      const inner = this.compile(body)
      return (frame) => {
        const optional = given(frame)
        charge(3)
        const value = presentValue(optional)
        if (value === undefined) return Optional.none
        frame.locals[place!] = value
        const result = inner(frame)
        return flat ? result : new Optional(result)
      }
    })
  }
}

const isTypeName = (expr: Expr): boolean =>
  expr.kind === 'ident' ? expr.name === 'google' : expr.kind === 'select' && isTypeName(expr.operand)

/** An error of one item counts only if no other item decides. */
function quantifier(predicate: Step, decidedBy: boolean, each: (frame: Frame, visit: () => boolean) => void): Step {
  return (frame) => {
    let failure: unknown
    let decided = false
    charge(1)
    each(frame, () => {
      try {
        const holds = predicate(frame)
        if (typeof holds !== 'boolean') throw noSuchOverload()
        decided = holds === decidedBy
      } catch (error) {
        forgive(error)
        failure ??= error
      }
      return !decided
    })
    if (decided) return decidedBy
    if (failure !== undefined) throw failure
    return !decidedBy
  }
}

/** Visits items, or indexes and items; keys, or keys and values. Ends when `visit` answers false. */
function eachOf(range: unknown, two: boolean, visit: (first: unknown, second: unknown) => boolean): void {
  if (Array.isArray(range)) {
    for (let index = 0; index < range.length; index++) {
      const item: unknown = range[index]
      if (!(two ? visit(BigInt(index), item) : visit(item, undefined))) return
    }
  } else if (range instanceof Map) {
    for (const [key, value] of range) if (!visit(key, value)) return
  } else if (range instanceof StructValue) {
    for (const name of range.names()) if (!visit(name, two ? range.get(name) : undefined)) return
  } else throw noSuchOverload()
}

/** Returns the value of an optional; undefined if it has none. */
function presentValue(optional: unknown): unknown {
  if (!(optional instanceof Optional)) throw noSuchOverload()
  return optional.present ? optional.value : undefined
}
/** undefined: it is not there. */
function lookUp(value: unknown, field: string): unknown {
  if (value instanceof StructValue) return value.get(field)
  return value instanceof Map ? value.get(field) : undefined
}
function isSet(value: unknown, field: string): boolean {
  if (value instanceof StructValue) return value.has(field)
  if (value instanceof Map) return value.has(field)
  return value instanceof Optional && value.present && isSet(value.value, field)
}
function optionally(value: unknown, find: (inner: unknown) => unknown): Optional {
  if (value instanceof Optional && !value.present) return Optional.none
  const found = find(value instanceof Optional ? value.value : value)
  return found === undefined ? Optional.none : new Optional(found)
}

/** undefined: there is no such item. */
function itemAt(value: unknown, index: unknown): unknown {
  const key = mapKey(index)
  if (value instanceof Map) return value.get(key)
  if (value instanceof StructValue && typeof key === 'string') return value.get(key)
  if (!Array.isArray(value) || typeof key !== 'bigint') throw noSuchOverload()
  return key < 0n || key >= value.length ? undefined : value[Number(key)]
}
const printKey = (key: unknown): string => (key instanceof Uint ? String(key.value) : String(key))
function index(value: unknown, key: unknown): unknown {
  if (value instanceof Optional) return optionally(value, (inner) => itemAt(inner, key))
  const found = itemAt(value, key)
  if (found !== undefined) return found
  throw new CelError(Array.isArray(value) ? `index out of bounds: ${printKey(key)}` : `no such key: ${printKey(key)}`)
}

function isIn(item: unknown, container: unknown): boolean {
  if (Array.isArray(container)) return container.some((other) => equal(item, other))
  if (container instanceof Map) return container.has(mapKey(item))
  if (container instanceof StructValue && typeof item === 'string') return container.has(item)
  throw noSuchOverload()
}

/** An operand that fails is forgiven when the other decides. */
const logical =
  (decidedBy: boolean) =>
  (left: Step, right: Step): Step =>
  (frame) => {
    let first: unknown
    let failure: unknown
    try {
      first = left(frame)
      if (first === decidedBy) return decidedBy
    } catch (error) {
      forgive(error)
      failure = error
    }
    const second = right(frame)
    if (second === decidedBy) return decidedBy
    if (failure !== undefined) throw failure
    if (typeof first !== 'boolean' || typeof second !== 'boolean') throw noSuchOverload()
    return !decidedBy
  }
const relation =
  (holds: (order: number) => boolean) =>
  (left: Step, right: Step): Step =>
  (frame) => {
    const [first, second] = [left(frame), right(frame)]
    charge(comparisonCost(first, second))
    const order = compare(first, second)
    return order !== undefined && holds(order)
  }

const equality =
  (wanted: boolean) =>
  (left: Step, right: Step): Step =>
  (frame) => {
    const [first, second] = [left(frame), right(frame)]
    charge(equalityCost(first, second))
    return equal(first, second) === wanted
  }

/** Operators that do not take all of their operands first, or any type. */
const SPECIAL = new Map<string, (...steps: Step[]) => Step>(
  Object.entries<(...steps: never[]) => Step>({
    '_&&_': logical(false),
    '_||_': logical(true),
    '_?_:_': (condition: Step, whenTrue: Step, whenFalse: Step) => (frame: Frame) => {
      const holds = condition(frame)
      if (typeof holds !== 'boolean') throw noSuchOverload()
      return holds ? whenTrue(frame) : whenFalse(frame)
    },
    '!_': (operand: Step) => (frame: Frame) => {
      charge(1)
      const value = operand(frame)
      if (typeof value !== 'boolean') throw noSuchOverload()
      return !value
    },
    '_==_': equality(true),
    '_!=_': equality(false),
    '_<_': relation((order) => order < 0),
    '_<=_': relation((order) => order <= 0),
    '_>_': relation((order) => order > 0),
    '_>=_': relation((order) => order >= 0),
    '@in': (item: Step, container: Step) => (frame: Frame) => {
      const [wanted, items] = [item(frame), container(frame)]
      charge(membershipCost(items))
      return isIn(wanted, items)
    },
    '_[_]': (operand: Step, key: Step) => (frame: Frame) => {
      charge(1)
      return index(operand(frame), key(frame))
    },
    '_[?_]': (operand: Step, key: Step) => (frame: Frame) => {
      charge(1)
      const at = key(frame)
      return optionally(operand(frame), (inner) => itemAt(inner, at))
    },
    or: (first: Step, second: Step) => (frame: Frame) => {
      const value = first(frame)
      if (!(value instanceof Optional)) throw noSuchOverload()
      return value.present ? value : second(frame)
    },
    orValue: (first: Step, second: Step) => (frame: Frame) => {
      const value = presentValue(first(frame))
      return value === undefined ? second(frame) : value
    },
  }) as [string, (...steps: Step[]) => Step][],
)

/** Chooses the overload: by the types if they say enough, else by the values. A call that none takes costs nothing. */
function dispatch(name: string, overloads: Overload[], args: Expr[]): { run: Run; cost: RunCost } {
  const [only] = overloads
  const cost = runCost(name)
  if (
    only !== undefined &&
    overloads.length === 1 &&
    args.every((arg, index) => isSettled(arg.type!, only.params[index]!))
  )
    return { run: only.run, cost }
  const run = (...values: unknown[]): unknown => {
    const overload = overloads.find(({ params }) => params.every((type, index) => fits(type, values[index])))
    if (overload === undefined) throw new CelError(unmatched(name, values))
    charge(cost(...values))
    return overload.run(...values)
  }
  return { run, cost: () => 0 }
}
/** Names the missing overload; for functions of the language itself cel-go says less. */
function unmatched(name: string, values: unknown[]): string {
  if (!/^[a-z]/i.test(name) || TERSE.has(name)) return 'no such overload'
  if (name === 'size') return 'no such overload: size'
  return `no such overload: ${name}(${values.map(runtimeName).join(', ')})`
}
const TERSE = new Set(['startsWith', 'endsWith', 'contains', 'matches'])
function runtimeName(value: unknown): string {
  const { kind, name } = typeOfValue(value)
  if (kind === 'null') return 'null_type'
  return kind === 'timestamp' || kind === 'duration'
    ? `google.protobuf.${kind === 'timestamp' ? 'Timestamp' : 'Duration'}`
    : name
}
const isSettled = (type: CelType, wanted: CelType): boolean =>
  wanted.kind === 'dyn' || wanted.kind === 'param' || type.kind === wanted.kind

/** A call is paid for before it works. */
function apply(steps: Step[], run: Run, cost: RunCost): Step {
  const [first, second] = steps
  if (steps.length === 1)
    return (frame) => {
      const value = first!(frame)
      charge(cost(value))
      return run(value)
    }
  if (steps.length === 2)
    return (frame) => {
      const left = first!(frame)
      const right = second!(frame)
      charge(cost(left, right))
      return run(left, right)
    }
  return (frame) => {
    const values = steps.map((step) => step(frame))
    charge(cost(...values))
    return run(...values)
  }
}

/** A list or a map of literals is made once, and costs nothing. */
function constantItems({ elements }: List): readonly unknown[] | undefined {
  const items: unknown[] = []
  for (const { value, optional } of elements) {
    if (value.kind !== 'literal' || optional) return undefined
    items.push(value.value)
  }
  return items
}
function constantEntries({ entries }: MapExpr): ReadonlyMap<unknown, unknown> | undefined {
  const map = new Map<unknown, unknown>()
  for (const { key, value, optional } of entries) {
    if (key.kind !== 'literal' || value.kind !== 'literal' || optional) return undefined
    const id = mapKey(key.value)
    if (typeof id === 'object' || typeof id === 'number') return undefined
    map.set(id, value.value)
  }
  return map
}
const MEMBERS = new Set(['string', 'bigint', 'boolean'])
/** The items of a list of literals, which `in` looks up at no cost. */
function constantMembers(expr: Expr): ReadonlySet<unknown> | undefined {
  const items = expr.kind === 'list' ? constantItems(expr) : undefined
  return items?.every((item) => MEMBERS.has(typeof item)) ? new Set(items) : undefined
}
