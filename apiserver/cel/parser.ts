import { type Call, type Expr, qualifiedName, type StructExpr } from './ast.ts'
import { type Token, tokensOf } from './lexer.ts'
import { expandMacro } from './macros.ts'
import { type Problem, SyntaxProblem } from './source-error.ts'
import { Uint } from './values.ts'

const RELATIONS = new Set(['==', '!=', '<', '<=', '>', '>=', 'in'])
const SUMS = new Set(['+', '-'])
const PRODUCTS = new Set(['*', '/', '%'])
const LITERALS = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
])
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const PUNCTUATION = ['[', ']', '{', '}', '(', ')', '.', ',', '-', '!', '?']
/** Returns what may stand where an operand begins, and beside that the marks in `more`, in the order of the grammar. */
const operandOr = (more: string): string => {
  const marks = PUNCTUATION.filter((mark) => `[{(.-!${more}`.includes(mark)).map((mark) => `'${mark}'`)
  return `{${marks.join(', ')}, 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`
}
const EXPECTED = operandOr('')
const MAX_DEPTH = 250
const MAX_INT = 2n ** 63n

export type Parsed = { expr: Expr } | { problems: Problem[] }

export function parse(source: string): Parsed {
  const problems: Problem[] = []
  try {
    const expr = new Parser(tokensOf(source, problems), problems).whole()
    return problems.length > 0 ? { problems } : { expr }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    return { problems: [...problems, { text: error.message, at: error.at }] }
  }
}

const beginnings = new Set(['number', 'string', 'bytes', '(', '[', '{', '.', '-', '!'])
const beginsOperand = ({ kind, text }: Token): boolean => beginnings.has(kind) || (kind === 'name' && text !== 'in')
const operators = new Set([...RELATIONS, ...SUMS, ...PRODUCTS, '&&', '||', '?'])
const followsOperand = ({ kind, text }: Token): boolean =>
  kind === 'end' || kind === '.' || kind === '[' || (operators.has(text) && kind !== 'string')

/**
 * Reads on after some mistakes, as cel-go's parser does: it leaves out a token that stands before the expected one, and
 * it supplies one that is missing before what may follow it. Each mistake is a problem of its own.
 */
class Parser {
  readonly problems: Problem[]
  readonly #tokens: Token[]
  #next = 0
  #depth = 0
  #open: { at: number; expected: string } | undefined

  constructor(tokens: Token[], problems: Problem[]) {
    this.#tokens = tokens
    this.problems = problems
  }

  whole(): Expr {
    const expr = this.#expression()
    if (this.#token.kind === 'end') return expr
    return this.#unexpected('<EOF>', this.#isNext('end') ? 'extraneous' : 'mismatched')
  }

  get #token(): Token {
    return this.#tokens[this.#next]!
  }
  #isNext(kind: string): boolean {
    return this.#tokens[this.#next + 1]?.kind === kind
  }
  #take(): Token {
    return this.#tokens[this.#next++]!
  }
  /** Takes an operator or word if it comes next. */
  #accept(text: string): Token | undefined {
    const { kind } = this.#token
    return kind === text && kind !== 'end' ? this.#take() : undefined
  }
  #expect(text: string): Token {
    const taken = this.#accept(text)
    if (taken !== undefined) return taken
    if (this.#isNext(text)) {
      this.#leaveOut(`'${text}'`)
      return this.#take()
    }
    const mayFollow = text === ':' ? beginsOperand : followsOperand
    if (!mayFollow(this.#token)) return this.#unexpected(`'${text}'`)
    this.#report(`missing '${text}' at '${this.#token.text}'`)
    return this.#token
  }
  #unexpected(expected: string, how = 'mismatched'): never {
    const { text, at } = this.#token
    throw new SyntaxProblem(`Syntax error: ${how} input '${text}' expecting ${expected}`, at)
  }
  #report(text: string): void {
    this.problems.push({ text: `Syntax error: ${text}`, at: this.#token.at })
  }
  #leaveOut(expected: string): void {
    this.#report(`extraneous input '${this.#token.text}' expecting ${expected}`)
    this.#take()
  }

  /** Reads an operand's place: what stands before an operand is left out, and an operator without one has none. */
  #beginOperand(): Expr | undefined {
    const expected = this.#open?.at === this.#next ? this.#open.expected : EXPECTED
    const token = this.#token
    if (beginsOperand(token)) return undefined
    const next = this.#tokens[this.#next + 1]
    if (next && beginsOperand(next)) {
      this.#leaveOut(expected)
      return undefined
    }
    if (!operators.has(token.text)) return this.#unexpected(expected)
    this.#report(`mismatched input '${token.text}' expecting ${expected}`)
    return { kind: 'literal', value: null, at: token.at }
  }

  /** Notes that the next operand may also be what stands in `more`. */
  #opens(more: string): void {
    this.#open = { at: this.#next, expected: operandOr(more) }
  }

  /** Reads the end of empty brackets. A comma may stand between them, and another token is left out. */
  #isEmpty(end: string): boolean {
    if (this.#accept(end) !== undefined) return true
    if (!this.#isNext(end) || beginsOperand(this.#token)) return false
    if (end === ')' || this.#accept(',') === undefined) this.#leaveOut(this.#open!.expected)
    this.#take()
    return true
  }

  /** Reads the comma behind a member of a list or map. Returns false at its end. */
  #separated(end: string): boolean {
    if (this.#token.kind !== ',' && this.#token.kind !== end) {
      const expected = `{'${end}', ','}`
      if (!this.#isNext(',') && !this.#isNext(end)) this.#unexpected(expected)
      this.#leaveOut(expected)
    }
    if (this.#accept(',') === undefined) return false
    return beginsOperand(this.#token) || this.#token.kind === '?'
  }

  #expression(): Expr {
    if (++this.#depth > MAX_DEPTH)
      throw new SyntaxProblem(`expression recursion limit exceeded: ${MAX_DEPTH}`, this.#token.at)
    const condition = this.#logical('||')
    const question = this.#accept('?')
    let expr = condition
    if (question !== undefined) {
      const whenTrue = this.#logical('||')
      this.#expect(':')
      const whenFalse = this.#expression()
      expr = call('_?_:_', question.at, [condition, whenTrue, whenFalse])
    }
    this.#depth--
    return expr
  }

  #logical(operator: '||' | '&&'): Expr {
    const below = (): Expr => (operator === '||' ? this.#logical('&&') : this.#relation())
    let left = below()
    for (let token = this.#accept(operator); token !== undefined; token = this.#accept(operator))
      left = call(`_${operator}_`, token.at, [left, below()])
    return left
  }

  #relation(): Expr {
    let left = this.#binary(SUMS)
    while (RELATIONS.has(this.#token.text) && this.#token.kind !== 'string') {
      const { text, at } = this.#take()
      left = call(text === 'in' ? '@in' : `_${text}_`, at, [left, this.#binary(SUMS)])
    }
    return left
  }

  #binary(operators: ReadonlySet<string>): Expr {
    const below = (): Expr => (operators === SUMS ? this.#binary(PRODUCTS) : this.#unary())
    let left = below()
    while (operators.has(this.#token.kind)) {
      const { text, at } = this.#take()
      left = call(`_${text}_`, at, [left, below()])
    }
    return left
  }

  #unary(): Expr {
    const first = this.#token
    const operator = first.kind === '!' || first.kind === '-' ? first.kind : undefined
    if (operator === undefined) return this.#beginOperand() ?? this.#member(this.#primary())
    let count = 0
    while (this.#accept(operator) !== undefined) count++
    if (operator === '-' && this.#token.kind === 'number' && !(this.#token.value instanceof Uint)) {
      const literal = this.#member({ kind: 'literal', value: this.#number(this.#take(), true), at: first.at })
      return count % 2 === 1 ? literal : call('-_', first.at, [literal])
    }
    this.#checkOperandOf(operator)
    const operand = this.#beginOperand() ?? this.#member(this.#primary())
    return count % 2 === 0 ? operand : call(operator === '!' ? '!_' : '-_', first.at, [operand])
  }

  /** Reports a sign without an operand, in cel-go's words. */
  #checkOperandOf(operator: string): void {
    const { kind, text } = this.#token
    if (beginsOperand(this.#token)) return
    if (operator === '-') this.#report(`no viable alternative at input '-${kind === 'end' ? '' : text}'`)
    else if (kind === 'end' || !operators.has(text)) this.#unexpected(EXPECTED, 'extraneous')
    else this.#leaveOut(EXPECTED)
  }

  #number({ value, at }: Token, negative = false): unknown {
    if (typeof value === 'number') return negative ? -value : value
    if (value instanceof Uint) {
      if (value.value >= 2n * MAX_INT) throw new SyntaxProblem('invalid uint literal', at)
      return value
    }
    const signed = negative ? -(value as bigint) : (value as bigint)
    if (signed >= MAX_INT || signed < -MAX_INT) throw new SyntaxProblem('invalid int literal', at)
    return signed
  }

  #member(start: Expr): Expr {
    let operand = start
    for (let steps = 0; ; steps++) {
      if (steps > MAX_DEPTH)
        throw new SyntaxProblem(`expression recursion limit exceeded: ${MAX_DEPTH}`, this.#token.at)
      const token = this.#accept('.') ?? this.#accept('[')
      if (token === undefined) return operand
      operand = token.text === '.' ? this.#afterDot(operand, token.at) : this.#index(operand, token.at)
    }
  }

  #afterDot(operand: Expr, at: number): Expr {
    const optional = this.#accept('?') !== undefined
    if (this.#token.kind !== 'name' || this.#token.text === 'in' || LITERALS.has(this.#token.text)) this.#noField()
    const { text: name } = this.#take()
    const open = optional ? undefined : this.#accept('(')
    if (open === undefined)
      return this.#message({ kind: 'select', operand, field: name, at, ...(optional && { optional }) })
    return this.#macroOr({ kind: 'call', name, target: operand, args: this.#arguments(), at: open.at })
  }

  /** `Name{field: value}` */
  #message(name: Expr): Expr {
    const qualified = this.#token.kind === '{' ? qualifiedName(name) : undefined
    if (qualified === undefined) return name
    const { at } = this.#take()
    const fields: StructExpr['fields'] = []
    let expected = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
    if (this.#accept(',') !== undefined) expected = "'}'"
    while (this.#accept('}') === undefined) {
      const optional = this.#accept('?') !== undefined
      if (this.#token.kind !== 'name' || this.#token.text === 'in' || LITERALS.has(this.#token.text)) {
        if (!this.#isNext('}')) this.#unexpected(expected)
        this.#leaveOut(expected)
        continue
      }
      expected = "{'}', '?', IDENTIFIER, ESC_IDENTIFIER}"
      const { text } = this.#take()
      const colon = this.#token.at
      this.#expect(':')
      fields.push({ name: text, value: this.#expression(), optional, at: colon })
      if (this.#token.kind !== '}' && this.#token.kind !== ',' && this.#isNext('}')) this.#leaveOut("{'}', ','}")
      if (this.#accept(',') === undefined && this.#token.kind !== '}') this.#unexpected("{'}', ','}")
    }
    return { kind: 'struct', name: qualified, fields, at }
  }

  #noField(): never {
    const { kind, text, at } = this.#token
    if (LITERALS.has(text)) this.#unexpected('IDENTIFIER')
    throw new SyntaxProblem(`Syntax error: no viable alternative at input '.${kind === 'end' ? '' : text}'`, at)
  }

  #index(operand: Expr, at: number): Expr {
    this.#opens('?')
    const optional = this.#accept('?') !== undefined
    const index = this.#expression()
    this.#expect(']')
    return call(optional ? '_[?_]' : '_[_]', at, [operand, index])
  }

  #arguments(): Expr[] {
    const args: Expr[] = []
    this.#opens(')')
    if (this.#isEmpty(')')) return args
    do args.push(this.#expression())
    while (this.#accept(',') !== undefined)
    this.#expect(')')
    return args
  }

  #macroOr(plain: Call): Expr {
    const expanded = expandMacro(plain)
    if (expanded === undefined) return plain
    if ('kind' in expanded) return expanded
    this.problems.push(expanded)
    return plain
  }

  #primary(): Expr {
    const token = this.#token
    switch (token.kind) {
      case 'number':
        return { kind: 'literal', value: this.#number(this.#take()), at: token.at }
      case 'string':
      case 'bytes':
        this.#take()
        return { kind: 'literal', value: token.value, at: token.at }
      case '(': {
        this.#take()
        const expr = this.#expression()
        this.#expect(')')
        return expr
      }
      case '[':
        return this.#list()
      case '{':
        return this.#map()
      case '.':
        this.#take()
        return this.#token.kind === 'name' && this.#token.text !== 'in' ? this.#name() : this.#noField()
      case 'name':
        return this.#name()
      default:
        return this.#unexpected(EXPECTED)
    }
  }

  #name(): Expr {
    const { kind, text, at } = this.#token
    if (kind !== 'name' || text === 'in') this.#unexpected(kind === 'name' ? EXPECTED : 'IDENTIFIER')
    this.#take()
    if (LITERALS.has(text)) return { kind: 'literal', value: LITERALS.get(text), at }
    if (RESERVED.has(text)) this.problems.push({ text: `reserved identifier: ${text}`, at })
    const open = this.#accept('(')
    if (open === undefined) return this.#message({ kind: 'ident', name: text, at })
    return this.#macroOr({ kind: 'call', name: text, args: this.#arguments(), at: open.at })
  }

  #list(): Expr {
    const { at } = this.#take()
    const elements: { value: Expr; optional: boolean }[] = []
    this.#opens('],?')
    if (this.#isEmpty(']')) return { kind: 'list', elements, at }
    do {
      const optional = this.#accept('?') !== undefined
      elements.push({ value: this.#expression(), optional })
    } while (this.#separated(']'))
    this.#expect(']')
    return { kind: 'list', elements, at }
  }

  #map(): Expr {
    const { at } = this.#take()
    const entries: { key: Expr; value: Expr; optional: boolean }[] = []
    this.#opens('},?')
    if (this.#isEmpty('}')) return { kind: 'map', entries, at }
    do {
      const optional = this.#accept('?') !== undefined
      const key = this.#expression()
      this.#expect(':')
      entries.push({ key, value: this.#expression(), optional })
    } while (this.#separated('}'))
    this.#expect('}')
    return { kind: 'map', entries, at }
  }
}

const call = (name: string, at: number, args: Expr[]): Call => ({ kind: 'call', name, args, at })
