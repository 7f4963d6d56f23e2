/** Random expressions of a type, from variables, literals, macros and all functions of all libraries. */
import { functions } from '../../apiserver/cel/library/index.ts'
import type { Overload } from '../../apiserver/cel/overloads.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  INT,
  listOf,
  mapOf,
  optionalOf,
  STRING,
  TIMESTAMP,
  UINT,
} from '../../apiserver/cel/types.ts'
import type { Random } from '../fuzz/random.ts'

export interface Variable {
  text: string
  type: CelType
}
type Bindings = Map<string, CelType>

/** What no expression writes: functions of macros, and those whose values only admission has. */
const HIDDEN = /^(@not|@sort|cel\.@|dyn$|type$)/
const isHidden = ({ params, result }: Overload): boolean =>
  [...params, result].some(({ name }) => /authorization/.test(name))
const rows: { name: string; overload: Overload }[] = [...functions.all()].flatMap(([name, overloads]) =>
  HIDDEN.test(name) ? [] : overloads.filter((row) => !isHidden(row)).map((overload) => ({ name, overload })),
)

/** Of the types of libraries. */
const VALUES: Record<string, string> = {
  'kubernetes.Quantity': "quantity('1Gi')",
  'kubernetes.Semver': "semver('1.2.3')",
  'kubernetes.URL': "url('http://a.example:80/b?c=d')",
  'kubernetes.NamedFormat': 'format.dns1123Label()',
  'net.IP': "ip('10.0.0.1')",
  'net.CIDR': "cidr('10.0.0.0/8')",
}
const SIMPLE = [BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION]
const OPERATOR = /^_(.+)_$/

export class ProgramGenerator {
  readonly #random: Random
  readonly #variables: Variable[]
  #names = 0

  constructor(random: Random, variables: readonly Variable[]) {
    this.#random = random
    this.#variables = [...variables]
  }

  /** `depth`: of calls within calls. */
  expression(type: CelType, depth: number): string {
    const known = this.#variables.filter((variable) => isSame(variable.type, type))
    if (depth <= 0 || this.#random.chance(0.1)) {
      if (known.length > 0 && this.#random.chance(0.8)) return this.#random.pick(known).text
      const literal = this.#literal(type)
      if (literal !== undefined) return literal
      if (known.length > 0) return this.#random.pick(known).text
    }
    if (depth > 0 && this.#random.chance(0.25)) {
      const macro = this.#macro(type, depth)
      if (macro !== undefined) return macro
    }
    return this.#call(type, depth) ?? this.#literal(type) ?? 'null'
  }

  #call(type: CelType, depth: number): string | undefined {
    const fitting = rows.flatMap(({ name, overload }) => {
      const bindings: Bindings = new Map()
      return matches(overload.result, type, bindings) && (depth > 0 || overload.params.length === 0)
        ? [{ name, overload, bindings }]
        : []
    })
    if (fitting.length === 0) return undefined
    // Names first, so that a name with many overloads is no more probable than another.
    const name = this.#random.pick([...new Set(fitting.map((row) => row.name))])
    const { overload, bindings } = this.#random.pick(fitting.filter((row) => row.name === name))
    const args = overload.params.map((param) => this.expression(this.#bound(param, bindings), depth - 1))
    return written(name, overload.member, args)
  }

  /** Parameters that nothing has bound yet become simple types. */
  #bound(type: CelType, bindings: Bindings): CelType {
    if (type.kind === 'param') {
      if (!bindings.has(type.name)) bindings.set(type.name, this.#random.pick([STRING, STRING, INT, BOOL]))
      return bindings.get(type.name)!
    }
    if (type.kind === 'dyn') return this.#random.pick([STRING, INT, listOf(STRING)])
    return type.params.length === 0
      ? type
      : { ...type, params: type.params.map((param) => this.#bound(param, bindings)) }
  }

  #macro(type: CelType, depth: number): string | undefined {
    const item = this.#random.pick([STRING, STRING, INT, listOf(STRING), BOOL])
    const isMap = this.#random.chance(0.3)
    const range = this.expression(isMap ? mapOf(STRING, item) : listOf(item), depth - 1)
    const [first, second] = [`v${this.#names++}`, `v${this.#names++}`]
    const one = [{ text: first, type: isMap ? STRING : item }]
    const two = [
      { text: first, type: isMap ? STRING : INT },
      { text: second, type: item },
    ]
    const within = (variables: Variable[], wanted: CelType): string => {
      this.#variables.push(...variables)
      const text = this.expression(wanted, depth - 1)
      this.#variables.length -= variables.length
      return text
    }
    if (type.kind === 'bool') {
      const name = this.#random.pick(['all', 'exists', 'exists_one'])
      return this.#random.chance(0.7)
        ? `(${range}).${name}(${first}, ${within(one, BOOL)})`
        : `(${range}).${name}(${first}, ${second}, ${within(two, BOOL)})`
    }
    if (type.kind === 'list') return this.#listMacro(type, depth, { range, first, second, one, two, within })
    if (type.kind === 'map' && isSame(type.params[0]!, STRING) && isMap)
      return `(${range}).transformMap(${first}, ${second}, ${within(two, type.params[1]!)})`
    if (type.name === 'optional_type') {
      const given = this.expression(optionalOf(item), depth - 1)
      return `(${given}).optMap(${first}, ${within([{ text: first, type: item }], type.params[0]!)})`
    }
    return undefined
  }

  #listMacro(
    type: CelType,
    depth: number,
    {
      range,
      first,
      second,
      one,
      two,
      within,
    }: {
      range: string
      first: string
      second: string
      one: Variable[]
      two: Variable[]
      within(variables: Variable[], wanted: CelType): string
    },
  ): string {
    const [wanted] = type.params
    const own = [{ text: first, type: wanted! }]
    switch (this.#random.below(5)) {
      case 0:
        return `(${this.expression(type, depth - 1)}).filter(${first}, ${within(own, BOOL)})`
      case 1:
        return `(${this.expression(type, depth - 1)}).sortBy(${first}, ${within(own, this.#random.pick([STRING, INT]))})`
      case 2:
        return `(${range}).transformList(${first}, ${second}, ${within(two, wanted!)})`
      case 3:
        return `(${range}).map(${first}, ${within(one, BOOL)}, ${within(one, wanted!)})`
      default:
        return `(${range}).map(${first}, ${within(one, wanted!)})`
    }
  }

  #literal(type: CelType): string | undefined {
    const pick = (...texts: string[]): string => this.#random.pick(texts)
    switch (type.kind) {
      case 'bool':
        return pick('true', 'false')
      case 'int':
        return pick('0', '1', '-1', '3', '1000', '100000', '9223372036854775807')
      case 'uint':
        return pick('0u', '7u')
      case 'double':
        return pick('0.5', '-1.5', '1e21')
      case 'string':
        return pick(
          "''",
          "'a'",
          "','",
          "'aaaaaaaab'",
          "'[a-z]+'",
          "'(a?){20}a{20}'",
          "'.'",
          "'%s %s'",
          "'10.0.0.0/8'",
          "'1.2.3'",
          "'1h'",
          "'1Gi'",
          "'é😀'",
          "'2024-05-06T07:08:09Z'",
          "'America/New_York'",
          "'2001:db8::1'",
          "'a'",
        )
      case 'bytes':
        return pick("b''", "b'abc'")
      case 'list':
        return pick(
          '[]',
          `[${this.expression(type.params[0]!, 0)}]`,
          `[${this.expression(type.params[0]!, 0)}, ${this.expression(type.params[0]!, 0)}]`,
        )
      case 'map':
        return `{${this.expression(type.params[0]!, 0)}: ${this.expression(type.params[1]!, 0)}}`
      case 'timestamp':
        return "timestamp('2024-05-06T07:08:09Z')"
      case 'duration':
        return "duration('1h')"
      default:
        if (VALUES[type.name] !== undefined) return VALUES[type.name]
        return type.name === 'optional_type' ? `optional.of(${this.expression(type.params[0]!, 0)})` : undefined
    }
  }

  /** A type that an expression may have. */
  type(): CelType {
    const simple = this.#random.pick(SIMPLE)
    return this.#random.pick([
      simple,
      listOf(simple),
      BOOL,
      STRING,
      listOf(STRING),
      optionalOf(simple),
      mapOf(STRING, simple),
    ])
  }
}

function written(name: string, member: boolean, args: string[]): string {
  const [first, second, third] = args
  if (name === '_?_:_') return `(${first} ? ${second} : ${third})`
  if (name === '_[_]') return `(${first})[${second}]`
  if (name === '_[?_]') return `(${first})[?${second}]`
  if (name === '@in') return `(${first} in ${second})`
  if (name === '!_' || name === '-_') return `${name[0]}(${first})`
  const [, operator] = OPERATOR.exec(name) ?? []
  if (operator !== undefined) return `(${first} ${operator} ${second})`
  return member ? `(${first}).${name}(${args.slice(1).join(', ')})` : `${name}(${args.join(', ')})`
}

const isSame = (left: CelType, right: CelType): boolean =>
  left.kind === right.kind &&
  left.name === right.name &&
  left.params.length === right.params.length &&
  left.params.every((param, index) => isSame(param, right.params[index]!))

function matches(pattern: CelType, type: CelType, bindings: Bindings): boolean {
  if (pattern.kind === 'dyn') return true
  if (pattern.kind === 'param') {
    const bound = bindings.get(pattern.name)
    if (bound !== undefined) return isSame(bound, type)
    bindings.set(pattern.name, type)
    return true
  }
  return (
    pattern.kind === type.kind &&
    pattern.name === type.name &&
    pattern.params.length === type.params.length &&
    pattern.params.every((param, index) => matches(param, type.params[index]!, bindings))
  )
}
