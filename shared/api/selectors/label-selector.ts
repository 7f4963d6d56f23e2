import { ownValue } from '../json/own-value.ts'
import { badRequest } from '../status/status-errors.ts'
import { type Token, tokenize } from './label-selector-tokens.ts'
import { labelKeyMessages, labelValueMessages } from './label-syntax.ts'

export type Labels = Readonly<Record<string, string>> | undefined
export type Operator = 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

/** Holds one condition; `=`, `==` and `!=` are `in` and `notin` with one value. */
export interface Requirement {
  key: string
  operator: Operator
  values: readonly string[]
}

/** All requirements must hold; none: everything matches. */
export type LabelSelector = readonly Requirement[]

/**
 * Describes a metav1.LabelSelector, the form within specs. An absent selector selects nothing, an empty one everything.
 */
export interface LabelSelectorObject {
  matchLabels?: Record<string, string>
  matchExpressions?: LabelExpression[]
}

interface LabelExpression {
  key: string
  operator: string
  values?: string[]
}

export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  for (const requirement of selector) if (!holds(requirement, labels)) return false
  return true
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = ownValue(labels, key)
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value)
    case 'notin':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
      return isInteger(value) && BigInt(value) > BigInt(values[0]!)
    case 'lt':
      return isInteger(value) && BigInt(value) < BigInt(values[0]!)
  }
}

const isInteger = (value: string | undefined): value is string => value !== undefined && /^[-+]?\d+$/.test(value)

const operators: Record<string, Operator> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

/** The selector of a spec as requirements; undefined when it selects nothing at all. */
export function fromSelectorObject(selector: LabelSelectorObject | undefined | null): LabelSelector | undefined {
  if (!selector) return undefined
  const labels = Object.entries(selector.matchLabels ?? {})
  const expressions = selector.matchExpressions ?? []
  return [
    ...labels.map(([key, value]): Requirement => ({ key, operator: 'in', values: [value] })),
    ...expressions.map(requirementOf),
  ]
}

/** Returns whether the selector of a spec selects the labels: without a list of its requirements. */
export function selectsLabels(selector: LabelSelectorObject | undefined, labels: Labels): boolean {
  if (!selector) return false
  const { matchLabels, matchExpressions } = selector
  for (const key in matchLabels) if (ownValue(labels, key) !== matchLabels[key]) return false
  return (matchExpressions ?? []).every((expression) => holds(requirementOf(expression), labels))
}

function requirementOf({ key, operator, values = [] }: LabelExpression): Requirement {
  const known = operators[operator]
  if (!known) throw new Error(`"${operator}" is not a valid label selector operator`)
  return { key, operator: known, values }
}

const byKey = (a: Requirement, b: Requirement): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

/** A selector as one text: `a=b,x in (1,2)`. Empty for one that selects nothing or everything. */
export function formatSelectorObject(selector: LabelSelectorObject | undefined): string {
  const labels = new Set(Object.keys(selector?.matchLabels ?? {}))
  const texts = [...(fromSelectorObject(selector) ?? [])].sort(byKey).map(({ key, operator, values }) => {
    if (operator === 'exists') return key
    if (operator === '!') return `!${key}`
    if (operator === 'in' && values.length === 1 && labels.has(key)) return `${key}=${values[0]}`
    return `${key} ${operator} (${[...values].sort().join(',')})`
  })
  return texts.join(',')
}

/**
 * Parses a `labelSelector` query parameter such as `app in (a, b), !canary, tier=front`. Throws a StatusError with code
 * 400 and upstream's message.
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return []
  return new Parser(tokenize(text)).parse()
}

const symbolOperators: Record<string, Operator> = {
  '=': 'in',
  '==': 'in',
  '!=': 'notin',
  in: 'in',
  notin: 'notin',
  '>': 'gt',
  '<': 'lt',
}

class Parser {
  readonly #tokens: Token[]
  #position = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  parse(): LabelSelector {
    const requirements: Requirement[] = []
    for (;;) {
      const { type, text } = this.#peek()
      if (type === 'end') return requirements
      if (!isWord(type) && type !== '!')
        throw badRequest(`found '${text}', expected: !, identifier, or 'end of string'`)
      requirements.push(this.#requirement())
      const next = this.#take()
      if (next.type === 'end') return requirements
      if (next.type !== ',') throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`)
      const after = this.#peek()
      if (!isWord(after.type) && after.type !== '!') {
        throw badRequest(`found '${after.text}', expected: identifier after ','`)
      }
    }
  }

  #requirement(): Requirement {
    let token = this.#take()
    const absent = token.type === '!'
    if (absent) token = this.#take()
    if (!isWord(token.type)) throw refused(`found '${token.text}', expected: identifier`)
    const key = token.text
    const wrong = labelKeyMessages(key)
    if (wrong.length > 0) throw refused(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrong.join('; ')}`)
    if (absent) return { key, operator: '!', values: [] }
    const next = this.#peek()
    if (next.type === 'end' || next.type === ',') return { key, operator: 'exists', values: [] }
    return this.#comparison(key)
  }

  #comparison(key: string): Requirement {
    const { text } = this.#take()
    const operator = Object.hasOwn(symbolOperators, text) ? symbolOperators[text] : undefined
    if (!operator) throw refused(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
    const values = text === 'in' || text === 'notin' ? this.#values() : [this.#exactValue()]
    if ((operator === 'gt' || operator === 'lt') && !isInteger(values[0])) {
      const bad = JSON.stringify(values[0])
      throw refused(`values[0]: Invalid value: ${bad}: for 'Gt', 'Lt' operators, the value must be an integer`)
    }
    for (const [index, value] of values.entries()) {
      const wrong = labelValueMessages(value)
      if (wrong.length === 0) continue
      throw refused(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join('; ')}`)
    }
    return { key, operator, values }
  }

  #exactValue(): string {
    const { type } = this.#peek()
    if (type === 'end' || type === ',') return ''
    const token = this.#take()
    if (!isWord(token.type)) throw refused(`found '${token.text}', expected: identifier`)
    return token.text
  }

  #values(): string[] {
    const open = this.#take()
    if (open.type !== '(') throw refused(`found '${open.text}' expected: '('`)
    const values = new Set<string>()
    for (;;) {
      const token = this.#take()
      if (isWord(token.type)) {
        values.add(token.text)
        const next = this.#take()
        if (next.type === ')') return [...values].sort()
        if (next.type !== ',') throw refused(`found '${next.text}', expected: ',' or ')'`)
      } else if (token.type === ',' || token.type === ')') {
        // An empty place between the commas is the empty value.
        values.add('')
        if (token.type === ')') return [...values].sort()
      } else {
        throw refused(`found '${token.text}', expected: ',', ')' or identifier`)
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#position]!
  }

  #take(): Token {
    const token = this.#peek()
    if (token.type !== 'end') this.#position++
    return token
  }
}

const isWord = (type: Token['type']): boolean => type === 'identifier' || type === 'in' || type === 'notin'
const refused = (message: string) => badRequest(`unable to parse requirement: ${message}`)
