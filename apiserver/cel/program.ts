/** A checked expression as functions that call one another: what its types decide is decided once. */

import { workLimits } from '../work-limits.ts'
import {
  ACCUMULATOR,
  type Bind,
  type Call,
  type Comprehension,
  type Expr,
  type List,
  type MapExpr,
  type Select,
} from './ast.ts'
import { TYPE_NAMES } from './checker.ts'
import type { Overload, Run } from './overloads.ts'
import type { CelType } from './types.ts'
import {
  CelCancelled,
  CelError,
  compare,
  equal,
  fits,
  mapKey,
  noSuchOverload,
  Optional,
  StructValue,
  TypeValue,
  typeOfValue,
  Uint,
} from './values.ts'

/** What an expression sees while it runs. */
interface Frame {
  variables: Readonly<Record<string, unknown>>
  /** Variables of macros, by their place. */
  locals: unknown[]
  /** How many more items macros may visit. */
  left: number
}
type Step = (frame: Frame) => unknown
export type Program = (variables: Readonly<Record<string, unknown>>) => unknown

/** Throws {@link CelError} when it runs. */
export function compileProgram(expr: Expr): Program {
  const step = new Compiler().compile(expr)
  return (variables) => step({ variables, locals: [], left: workLimits.celSteps })
}

class Compiler {
  readonly #scope: string[] = []

  compile(expr: Expr): Step {
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr
        return () => value
      }
      case 'ident':
        return this.#ident(expr.name)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'comprehension':
        return this.#comprehension(expr)
      case 'bind':
        return this.#bind(expr)
    }
  }

  #within<T>(names: string[], work: (places: number[]) => T): T {
    const places = names.map((name) => this.#scope.push(name) - 1)
    try {
      return work(places)
    } finally {
      this.#scope.length -= names.length
    }
  }

  #ident(name: string): Step {
    const place = this.#scope.lastIndexOf(name)
    if (place >= 0) return ({ locals }) => locals[place]
    const named = TYPE_NAMES.get(name)
    const asType = named && new TypeValue(named)
    return ({ variables }) => {
      const value = variables[name] ?? (name in variables ? variables[name] : asType)
      if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
      return value
    }
  }

  #select(expr: Select): Step {
    const { field, test, optional } = expr
    if (expr.type?.kind === 'type' && test !== true && isTypeName(expr)) {
      const value = new TypeValue(expr.type.params[0]!)
      return () => value
    }
    const operand = this.compile(expr.operand)
    if (test === true) return (frame) => isSet(operand(frame), field)
    if (optional === true) return (frame) => optionally(operand(frame), (value) => lookUp(value, field))
    return (frame) => {
      const value = operand(frame)
      if (value instanceof Optional) return optionally(value, (inner) => lookUp(inner, field))
      const found = lookUp(value, field)
      if (found === undefined) throw new CelError(`no such key: ${field}`)
      return found
    }
  }

  #call(expr: Call): Step {
    const special = SPECIAL.get(expr.name)
    const parts = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    const steps = parts.map((part) => this.compile(part))
    if (special !== undefined) return special(...steps)
    if (expr.append === true) {
      const [accumulator, list] = steps as [Step, Step]
      return (frame) => {
        const items = accumulator(frame) as unknown[]
        items.push(...(list(frame) as unknown[]))
        return items
      }
    }
    return apply(steps, dispatch(expr.name, expr.overloads ?? [], parts))
  }

  #list({ elements }: List): Step {
    const steps = elements.map(({ value, optional }) => ({ step: this.compile(value), optional }))
    return (frame) => {
      const items: unknown[] = []
      for (const { step, optional } of steps) {
        const value = step(frame)
        if (!optional) items.push(value)
        else if (!(value instanceof Optional)) throw noSuchOverload()
        else if (value.present) items.push(value.value)
      }
      return items
    }
  }

  #map({ entries }: MapExpr): Step {
    const steps = entries.map(({ key, value, optional }) => ({
      keyStep: this.compile(key),
      valueStep: this.compile(value),
      optional,
    }))
    return (frame) => {
      const map = new Map<unknown, unknown>()
      for (const { keyStep, valueStep, optional } of steps) {
        const key = mapKey(keyStep(frame))
        const value = valueStep(frame)
        if (typeof key === 'object' || typeof key === 'number') throw new CelError('unsupported key type')
        if (!optional) map.set(key, value)
        else if (!(value instanceof Optional)) throw noSuchOverload()
        else if (value.present) map.set(key, value.value)
      }
      return map
    }
  }

  #comprehension(expr: Comprehension): Step {
    const range = this.compile(expr.range)
    const init = this.compile(expr.init)
    const names = [ACCUMULATOR, expr.first, ...(expr.second === undefined ? [] : [expr.second])]
    return this.#within(names, ([accumulator, first, second]) => {
      const set = (frame: Frame, key: unknown, value: unknown): void => {
        frame.locals[first!] = key
        if (second !== undefined) frame.locals[second] = value
      }
      const each = (frame: Frame, visit: () => boolean): void =>
        eachOf(range(frame), second !== undefined, (key, value) => {
          if (frame.left-- === 0) throw new CelCancelled()
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

  #bind({ optional, name, body, flat }: Bind): Step {
    const given = this.compile(optional)
    return this.#within([name], ([place]) => {
      const inner = this.compile(body)
      return (frame) => {
        const value = given(frame)
        if (!(value instanceof Optional)) throw noSuchOverload()
        if (!value.present) return Optional.none
        frame.locals[place!] = value.value
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
    each(frame, () => {
      try {
        const holds = predicate(frame)
        if (typeof holds !== 'boolean') throw noSuchOverload()
        decided = holds === decidedBy
      } catch (error) {
        if (error instanceof CelCancelled) throw error
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

/** undefined: it is not there. */
function lookUp(value: unknown, field: string): unknown {
  if (value instanceof StructValue) return value.get(field)
  if (value instanceof Map) return value.get(field)
  throw noSuchOverload()
}
function isSet(value: unknown, field: string): boolean {
  if (value instanceof StructValue) return value.has(field)
  if (value instanceof Map) return value.has(field)
  if (value instanceof Optional) return value.present && isSet(value.value, field)
  throw noSuchOverload()
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
      if (error instanceof CelCancelled) throw error
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
    const order = compare(left(frame), right(frame))
    return order !== undefined && holds(order)
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
      const value = operand(frame)
      if (typeof value !== 'boolean') throw noSuchOverload()
      return !value
    },
    '_==_': (left: Step, right: Step) => (frame: Frame) => equal(left(frame), right(frame)),
    '_!=_': (left: Step, right: Step) => (frame: Frame) => !equal(left(frame), right(frame)),
    '_<_': relation((order) => order < 0),
    '_<=_': relation((order) => order <= 0),
    '_>_': relation((order) => order > 0),
    '_>=_': relation((order) => order >= 0),
    '@in': (item: Step, container: Step) => (frame: Frame) => isIn(item(frame), container(frame)),
    '_[_]': (operand: Step, key: Step) => (frame: Frame) => index(operand(frame), key(frame)),
    '_[?_]': (operand: Step, key: Step) => (frame: Frame) => {
      const at = key(frame)
      return optionally(operand(frame), (inner) => itemAt(inner, at))
    },
    or: (first: Step, second: Step) => (frame: Frame) => {
      const value = first(frame)
      if (!(value instanceof Optional)) throw noSuchOverload()
      return value.present ? value : second(frame)
    },
    orValue: (first: Step, second: Step) => (frame: Frame) => {
      const value = first(frame)
      if (!(value instanceof Optional)) throw noSuchOverload()
      return value.present ? value.value : second(frame)
    },
  }) as [string, (...steps: Step[]) => Step][],
)

/** Which overload runs: by the types if they say enough, else by the values. */
function dispatch(name: string, overloads: Overload[], args: Expr[]): Run {
  const [only] = overloads
  if (
    only !== undefined &&
    overloads.length === 1 &&
    args.every((arg, index) => isSettled(arg.type!, only.params[index]!))
  )
    return only.run
  return (...values: unknown[]) => {
    const overload = overloads.find(({ params }) => params.every((type, index) => fits(type, values[index])))
    if (overload === undefined) throw new CelError(unmatched(name, values))
    return overload.run(...values)
  }
}
/** Those of the language itself say less. */
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

function apply(steps: Step[], run: Run): Step {
  const [first, second] = steps
  if (steps.length === 1) return (frame) => run(first!(frame))
  if (steps.length === 2) return (frame) => run(first!(frame), second!(frame))
  return (frame) => run(...steps.map((step) => step(frame)))
}
