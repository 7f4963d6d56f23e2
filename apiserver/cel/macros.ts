/**
 * The parser writes these macros out: has(), quantifiers, maps and filters over one or two variables, optionals'
 * optMap.
 */
import { ACCUMULATOR, type Call, type Comprehension, type Expr, type Ident } from './ast.ts'
import type { Problem } from './source-error.ts'

type Expansion = Expr | Problem | undefined

/** undefined: no macro; a Problem: one that is used wrongly. */
export function expandMacro(call: Call): Expansion {
  if (call.target === undefined) return call.name === 'has' && call.args.length === 1 ? has(call) : undefined
  const macro = MACROS.get(`${call.name}/${call.args.length}`)
  return macro?.(new Expander(call))
}

function has({ args: [argument], at }: Call): Expansion {
  return argument?.kind === 'select'
    ? { ...argument, test: true, at }
    : { text: 'invalid argument to has() macro', at: argument?.at ?? 0 }
}

class Expander {
  readonly call: Call
  readonly at: number
  constructor(call: Call) {
    this.call = call
    this.at = call.at
  }
  arg(index: number): Expr {
    return this.call.args.at(index)!
  }
  literal(value: unknown): Expr {
    return { kind: 'literal', value, at: this.at }
  }
  ident(name: string): Ident {
    return { kind: 'ident', name, at: this.at }
  }
  get accumulator(): Expr {
    return this.ident(ACCUMULATOR)
  }
  operation(name: string, ...args: Expr[]): Call {
    return { kind: 'call', name, args, at: this.at }
  }
  /** `accumulator + [item]` */
  appended(item: Expr): Expr {
    const list: Expr = { kind: 'list', elements: [{ value: item, optional: false }], at: this.at }
    return { ...this.operation('_+_', this.accumulator, list), append: true }
  }
  /** `filter ? step : accumulator` */
  filtered(filter: Expr | undefined, step: Expr): Expr {
    return filter === undefined ? step : this.operation('_?_:_', filter, step, this.accumulator)
  }
  #notAName(variables: 1 | 2): string {
    return variables === 2 || this.call.name === 'filter'
      ? 'argument must be a simple name'
      : 'argument is not an identifier'
  }
  /** A fold over the target with the first arguments as variables. */
  fold(variables: 1 | 2, parts: Pick<Comprehension, 'init' | 'step'> & Partial<Comprehension>): Expansion {
    const names: string[] = []
    for (const argument of this.call.args.slice(0, variables)) {
      if (argument.kind !== 'ident') return { text: this.#notAName(variables), at: argument.at }
      if (names.includes(argument.name)) return { text: `duplicate variable name: ${argument.name}`, at: argument.at }
      if (argument.name === '__result__')
        return { text: 'iteration variable overwrites accumulator variable', at: argument.at }
      names.push(argument.name)
    }
    const [first = '', second] = names
    return {
      kind: 'comprehension',
      range: this.call.target!,
      first,
      second,
      result: this.accumulator,
      at: this.at,
      ...parts,
    }
  }
}

type Macro = (expander: Expander) => Expansion
const MACROS = new Map<string, Macro>()
function define(
  names: string[],
  variables: 1 | 2,
  args: number,
  macro: (expander: Expander, variables: 1 | 2) => Expansion,
) {
  for (const name of names) MACROS.set(`${name}/${args}`, (expander) => macro(expander, variables))
}

for (const variables of [1, 2] as const) {
  define(['all'], variables, variables + 1, (e) =>
    e.fold(variables, {
      init: e.literal(true),
      condition: e.operation('@not_strictly_false', e.accumulator),
      step: e.operation('_&&_', e.accumulator, e.arg(variables)),
      quantifier: { decidedBy: false, predicate: e.arg(variables) },
    }),
  )
  define(['exists'], variables, variables + 1, (e) =>
    e.fold(variables, {
      init: e.literal(false),
      condition: e.operation('@not_strictly_false', e.operation('!_', e.accumulator)),
      step: e.operation('_||_', e.accumulator, e.arg(variables)),
      quantifier: { decidedBy: true, predicate: e.arg(variables) },
    }),
  )
  define(variables === 1 ? ['exists_one'] : ['exists_one', 'existsOne'], variables, variables + 1, (e) =>
    e.fold(variables, {
      init: e.literal(0n),
      step: e.filtered(e.arg(variables), e.operation('_+_', e.accumulator, e.literal(1n))),
      result: e.operation('_==_', e.accumulator, e.literal(1n)),
    }),
  )
}
define(['filter'], 1, 2, (e) => e.fold(1, { init: list(e), step: e.filtered(e.arg(1), e.appended(e.arg(0))) }))
for (const [name, variables] of [
  ['map', 1],
  ['transformList', 2],
] as const) {
  define([name], variables, variables + 1, (e) => e.fold(variables, { init: list(e), step: e.appended(e.arg(-1)) }))
  define([name], variables, variables + 2, (e) =>
    e.fold(variables, { init: list(e), step: e.filtered(e.arg(variables), e.appended(e.arg(-1))) }),
  )
}
for (const args of [3, 4]) {
  const filter = (e: Expander): Expr | undefined => (args === 4 ? e.arg(2) : undefined)
  define(['transformMap'], 2, args, (e) =>
    e.fold(2, {
      init: map(e),
      step: e.filtered(filter(e), e.operation('cel.@mapInsert', e.accumulator, e.arg(0), e.arg(-1))),
    }),
  )
  define(['transformMapEntry'], 2, args, (e) =>
    e.fold(2, { init: map(e), step: e.filtered(filter(e), e.operation('cel.@mapInsert', e.accumulator, e.arg(-1))) }),
  )
}
for (const name of ['optMap', 'optFlatMap'])
  define([name], 1, 2, (e) => {
    const variable = e.arg(0)
    if (variable.kind !== 'ident')
      return { text: `${name}() variable name must be a simple identifier`, at: variable.at }
    return {
      kind: 'bind',
      optional: e.call.target!,
      name: variable.name,
      body: e.arg(1),
      flat: name === 'optFlatMap',
      at: e.at,
    }
  })
define(['sortBy'], 1, 2, (e) => {
  const input = e.ident('@__sortBy_input__')
  const keys = e.fold(1, { range: { ...input }, init: list(e), step: e.appended(e.arg(1)) })
  if (keys === undefined || !('kind' in keys)) return keys
  const body = { ...e.operation('@sortByAssociatedKeys', keys), target: input }
  return { kind: 'let', name: input.name, value: e.call.target!, body, at: e.at }
})

const list = (e: Expander): Expr => ({ kind: 'list', elements: [], at: e.at })
const map = (e: Expander): Expr => ({ kind: 'map', entries: [], at: e.at })
