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
  qualifiedName,
  type Select,
  type StructExpr,
  type Visitor,
  visit,
} from './ast.ts'
import type { Functions, Overload } from './overloads.ts'
import type { Problem } from './source-error.ts'
import {
  areAssignable,
  type Bindings,
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  INT,
  isAssignable,
  isDyn,
  isOptional,
  isSame,
  listOf,
  mapOf,
  mostGeneral,
  NULL,
  optionalOf,
  param,
  printType,
  STRING,
  substitute,
  TIMESTAMP,
  typeOf,
  UINT,
  unwrapped,
} from './types.ts'
import { typeOfLiteral } from './values.ts'

export type Variables = ReadonlyMap<string, CelType>
/** Returns the type of objects that expressions make by this name; undefined if there is none. */
export type StructTypes = (name: string) => CelType | undefined
const noStructs: StructTypes = () => undefined

/** Names that are values of type type. */
export const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map([
  ['bool', BOOL],
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['string', STRING],
  ['bytes', BYTES],
  ['null_type', NULL],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['type', typeOf(DYN)],
  ['optional_type', optionalOf(DYN)],
  ['google.protobuf.Timestamp', TIMESTAMP],
  ['google.protobuf.Duration', DURATION],
])

/**
 * Gives every part of an expression its type and each call its overloads. Problems are collected; the type is that of
 * the whole.
 */
export function check(
  expr: Expr,
  variables: Variables,
  functions: Functions,
  structs: StructTypes = noStructs,
): { type: CelType; problems: Problem[]; used: Set<string> } {
  const checker = new Checker(variables, functions, structs)
  const type = checker.check(expr)
  checker.finish()
  return { type: substitute(checker.bindings, type, DYN), problems: checker.problems, used: checker.used }
}

class Checker implements Visitor<CelType> {
  readonly problems: Problem[] = []
  readonly bindings: Bindings = new Map()
  /** Variables that the expression mentions. */
  readonly used = new Set<string>()
  readonly #variables: Variables
  readonly #functions: Functions
  readonly #structs: StructTypes
  readonly #scopes: Map<string, CelType>[] = []
  readonly #checked: Expr[] = []
  #free = 0
  #mayMix = false

  constructor(variables: Variables, functions: Functions, structs: StructTypes) {
    this.#variables = variables
    this.#functions = functions
    this.#structs = structs
  }

  check(expr: Expr): CelType {
    const type = visit(expr, this)
    expr.type = type
    this.#checked.push(expr)
    return type
  }

  /** Types that were found later stand in the tree as well. */
  finish(): void {
    for (const expr of this.#checked) expr.type = substitute(this.bindings, expr.type!, DYN)
  }

  literal({ value }: Literal): CelType {
    return typeOfLiteral(value)
  }
  ident({ name, at }: Ident): CelType {
    return this.#variable(name) ?? this.#undeclared(name, at)
  }

  #problem(text: string, at: number): CelType {
    this.problems.push({ text, at })
    return ERROR
  }
  #undeclared(name: string, at: number): CelType {
    return this.#problem(`undeclared reference to '${name}' (in container '')`, at)
  }

  #variable(name: string): CelType | undefined {
    for (const scope of this.#scopes.toReversed()) {
      const local = scope.get(name)
      if (local !== undefined) return local
    }
    const variable = this.#variables.get(name)
    if (variable !== undefined) {
      this.used.add(name)
      return variable
    }
    const named = TYPE_NAMES.get(name) ?? this.#structs(name)
    return named && typeOf(named)
  }

  /** A variable, or a type of objects, whose name has dots. */
  #whole(name: string): CelType | undefined {
    const [first = ''] = name.split('.')
    return this.#scopes.some((scope) => scope.has(first)) ? undefined : this.#variable(name)
  }

  #now(type: CelType): CelType {
    return substitute(this.bindings, type)
  }
  #newParam(): CelType {
    return param(`_var${this.#free++}`)
  }

  select(expr: Select): CelType {
    const qualified = expr.test === true ? undefined : qualifiedName(expr)
    if (qualified !== undefined && TYPE_NAMES.has(qualified)) return typeOf(TYPE_NAMES.get(qualified)!)
    const whole = qualified === undefined ? undefined : this.#whole(qualified)
    if (whole !== undefined) {
      becomeName(expr, qualified!)
      return whole
    }
    const operand = this.#now(this.check(expr.operand))
    const field = this.#field(unwrapped(operand), expr)
    if (expr.test === true) return BOOL
    return isOptional(operand) || expr.optional === true ? optionalOf(field) : field
  }

  #field(type: CelType, { field, at }: Select): CelType {
    if (type.kind === 'map') return type.params[1]!
    if (type.kind === 'struct') return type.fields!.get(field) ?? this.#problem(`undefined field '${field}'`, at)
    if (type.kind === 'param') isAssignable(this.bindings, DYN, type)
    else if (!isDyn(type)) this.#problem(`type '${printType(type)}' does not support field selection`, at)
    return DYN
  }

  call(expr: Call): CelType {
    const args = isFormat(expr) ? this.#mixed(expr.args) : expr.args.map((arg) => this.check(arg))
    if (expr.target !== undefined) {
      const prefix = qualifiedName(expr.target)
      const namespaced = prefix === undefined ? undefined : this.#functions.find(`${prefix}.${expr.name}`)
      if (namespaced !== undefined) {
        expr.name = `${prefix}.${expr.name}`
        expr.target = undefined
        return this.#resolve(expr, namespaced, args)
      }
      args.unshift(this.check(expr.target))
    }
    const overloads = this.#functions.find(expr.name)
    return overloads === undefined ? this.#undeclared(expr.name, expr.at) : this.#resolve(expr, overloads, args)
  }

  #resolve(expr: Call, overloads: Overload[], args: CelType[]): CelType {
    if (expr.name === '_&&_' || expr.name === '_||_') return this.#logical(expr, args)
    let result: CelType | undefined
    expr.overloads = []
    for (const overload of overloads) {
      if (overload.member !== (expr.target !== undefined)) continue
      const { params, type } = this.#instance(overload)
      if (!areAssignable(this.bindings, args, params)) continue
      expr.overloads.push(overload)
      const found = this.#now(type)
      if (result === undefined) result = found
      else if (result.kind !== 'dyn' && !isSame(found, result)) result = DYN
    }
    if (result !== undefined) return result
    const types = args.map((type) => printType(substitute(this.bindings, type, DYN)))
    const applied = expr.target === undefined ? `(${types.join(', ')})` : `${types[0]}.(${types.slice(1).join(', ')})`
    return this.#problem(`found no matching overload for '${expr.name}' applied to '${applied}'`, expr.at)
  }

  /** Returns the signature of an overload with new type parameters for this call. */
  #instance({ params, result, generic }: Overload): { params: CelType[]; type: CelType } {
    if (!generic) return { params, type: result }
    const own: Bindings = new Map()
    const fresh = (type: CelType): CelType => {
      if (type.kind === 'param') {
        if (!own.has(type.name)) own.set(type.name, this.#newParam())
        return own.get(type.name)!
      }
      return type.params.length === 0 ? type : { ...type, params: type.params.map(fresh) }
    }
    return { params: params.map(fresh), type: fresh(result) }
  }

  #logical(expr: Call, args: CelType[]): CelType {
    let sound = true
    for (const [index, type] of args.entries()) {
      if (isAssignable(this.bindings, type, BOOL)) continue
      sound = false
      this.#mismatch(expr.args[index]!, BOOL, type)
    }
    return sound ? BOOL : ERROR
  }
  #mismatch(expr: Expr, wanted: CelType, found: CelType): CelType {
    return this.#problem(
      `expected type '${printType(this.#now(wanted))}' but found '${printType(this.#now(found))}'`,
      expr.at,
    )
  }

  list({ elements }: List): CelType {
    let item: CelType | undefined
    for (const { value, optional } of elements) item = this.#joined(value, item, this.#entryType(value, optional))
    return listOf(item ?? this.#newParam())
  }
  map({ entries }: MapExpr): CelType {
    let keys: CelType | undefined
    let values: CelType | undefined
    for (const { key, value, optional } of entries) {
      keys = this.#joined(key, keys, this.check(key))
      values = this.#joined(value, values, this.#entryType(value, optional))
    }
    return mapOf(keys ?? this.#newParam(), values ?? this.#newParam())
  }
  struct({ name, fields, at }: StructExpr): CelType {
    const named = this.#variable(name)
    if (named === undefined) return this.#undeclared(name, at)
    let type = ERROR
    if (named.kind !== 'type') this.#problem(`'${named.name}' is not a type`, at)
    else if (named.params[0]!.kind === 'struct') type = named.params[0]!
    else this.#problem(`'${named.params[0]!.name}' is not a message type`, at)
    for (const field of fields) {
      const given = this.#entryType(field.value, field.optional)
      const wanted = type.fields?.get(field.name) ?? this.#problem(`undefined field '${field.name}'`, field.at)
      if (!isAssignable(this.bindings, wanted, given)) this.#wrongField(field, wanted, given)
    }
    return type
  }
  #wrongField({ name, at }: { name: string; at: number }, wanted: CelType, given: CelType): void {
    const [declared, provided] = [wanted, given].map((type) => printType(this.#now(type)))
    this.#problem(`expected type of field '${name}' is '${declared}' but provided type is '${provided}'`, at)
  }
  #entryType(expr: Expr, optional: boolean): CelType {
    const type = this.check(expr)
    if (!optional || isDyn(type)) return type
    if (!isOptional(this.#now(type))) return this.#mismatch(expr, optionalOf(type), type)
    return unwrapped(this.#now(type))
  }
  /** Checks the arguments of string.format, whose lists may hold several types. */
  #mixed(args: Expr[]): CelType[] {
    const outer = this.#mayMix
    this.#mayMix = true
    const types = args.map((arg) => this.check(arg))
    this.#mayMix = outer
    return types
  }
  /** Joins the types of items: those of one list are of one type. */
  #joined(expr: Expr, before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type
    if (isAssignable(this.bindings, before, type)) return mostGeneral(before, type)
    if (this.#mayMix) return DYN
    return this.#mismatch(expr, before, type)
  }

  comprehension(expr: Comprehension): CelType {
    const range = this.#now(this.check(expr.range))
    const accumulator = this.check(expr.init)
    const [first, second] = this.#rangeTypes(range, expr)
    this.#scopes.push(new Map([[ACCUMULATOR, accumulator]]))
    this.#scopes.push(
      new Map([[expr.first, first], ...(expr.second === undefined ? [] : ([[expr.second, second]] as const))]),
    )
    if (expr.condition !== undefined) this.#assert(expr.condition, BOOL)
    this.#assert(expr.step, accumulator)
    this.#scopes.pop()
    const result = this.check(expr.result)
    this.#scopes.pop()
    return this.#now(result)
  }
  #assert(expr: Expr, wanted: CelType): void {
    const type = this.check(expr)
    if (!isAssignable(this.bindings, wanted, type)) this.#mismatch(expr, wanted, type)
  }

  #rangeTypes(range: CelType, { range: expr, second }: Comprehension): [CelType, CelType] {
    const [item = DYN, value = DYN] = range.params
    if (range.kind === 'list') return second === undefined ? [item, item] : [INT, item]
    if (range.kind === 'map') return [item, value]
    if (range.kind === 'param') isAssignable(this.bindings, DYN, range)
    else if (!isDyn(range)) {
      this.#problem(
        `expression of type '${printType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        expr.at,
      )
      return [ERROR, ERROR]
    }
    return [DYN, DYN]
  }

  let({ name, value, body }: Let): CelType {
    this.#scopes.push(new Map([[name, this.#now(this.check(value))]]))
    const type = this.#now(this.check(body))
    this.#scopes.pop()
    return type
  }

  bind({ optional, name, body, flat, at }: Bind): CelType {
    const given = this.#now(this.check(optional))
    if (!isOptional(given) && !isDyn(given))
      this.#problem(`found no matching overload for 'hasValue' applied to '${printType(given)}.()'`, at)
    this.#scopes.push(new Map([[name, isOptional(given) ? given.params[0]! : DYN]]))
    const type = this.#now(this.check(body))
    this.#scopes.pop()
    if (!flat) return optionalOf(type)
    if (!isOptional(type) && !isDyn(type))
      return this.#problem(
        `found no matching overload for '_?_:_' applied to '(bool, ${printType(type)}, optional_type(dyn))'`,
        at,
      )
    return type
  }
}

/** Makes a selection the name of a variable, which has dots. */
function becomeName(expr: Select, name: string): void {
  const { at } = expr
  for (const key of Object.keys(expr)) Reflect.deleteProperty(expr, key)
  const ident: Ident = { kind: 'ident', name, at }
  Object.assign(expr, ident)
}

const isFormat = ({ name, target }: Call): boolean => name === 'format' && target !== undefined
