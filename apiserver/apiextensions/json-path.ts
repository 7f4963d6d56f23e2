import { isObject } from '../schema/json-schema.ts'

/**
 * Describes a parsed JSONPath. Supported is the part of kubectl's JSONPath that printer columns use: fields, indices,
 * slices, `*`, `..`, and filters.
 */
export type JSONPath = Step[]
type Step =
  | { kind: 'field'; name: string }
  | { kind: 'index'; index: number }
  | { kind: 'slice'; start?: number; end?: number; step: number }
  | { kind: 'all' }
  | { kind: 'descend' }
  | { kind: 'filter'; left: Operand; operator?: Operator; right?: Operand }
type Operand = { path: JSONPath } | { value: string | number | boolean | null }
type Operator = '==' | '!=' | '<' | '<=' | '>' | '>='

/** Returns undefined if the text is not a valid JSONPath. */
export function parseJSONPath(text: string): JSONPath | undefined {
  const steps: JSONPath = []
  let rest = text
  while (rest !== '') {
    const found = takeStep(rest)
    if (found === undefined) return undefined
    if (found.step !== undefined) steps.push(found.step)
    rest = rest.slice(found.length)
  }
  return steps
}

function takeStep(text: string): { step?: Step; length: number } | undefined {
  if (text.startsWith('..')) return { step: { kind: 'descend' }, length: text.startsWith('..[') ? 2 : 1 }
  if (text.startsWith('[')) return takeBracket(text)
  if (text === '.') return { length: 1 }
  const match = /^\.((?:\\.|[^\\.[\]{}()'"\s])+)/.exec(text)
  if (match === null) return text.startsWith('.[') ? { length: 1 } : undefined
  const name = (match[1] ?? '').replace(/\\(.)/g, '$1')
  return { step: name === '*' ? { kind: 'all' } : { kind: 'field', name }, length: match[0].length }
}

function takeBracket(text: string): { step: Step; length: number } | undefined {
  const filter = /^\[\?\(((?:[^()'"]|'[^']*'|"[^"]*")*)\)\]/.exec(text)
  if (filter !== null) {
    const step = parseFilter(filter[1] ?? '')
    return step && { step, length: filter[0].length }
  }
  const inner = /^\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\*|-?\d+|-?\d*:-?\d*(?::\d*)?)\]/.exec(text)
  if (inner === null) return undefined
  const [whole, content = ''] = inner
  return { step: parseBracket(content), length: whole.length }
}

function parseBracket(content: string): Step {
  if (content === '*') return { kind: 'all' }
  if (/^['"]/.test(content)) return { kind: 'field', name: content.slice(1, -1).replace(/\\(.)/g, '$1') }
  if (!content.includes(':')) return { kind: 'index', index: Number(content) }
  const [start, end, step] = content.split(':').map((part) => (part === '' ? undefined : Number(part)))
  return { kind: 'slice', start, end, step: step ?? 1 }
}

function parseFilter(text: string): Step | undefined {
  const match = /^\s*(.+?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?$/.exec(text)
  const left = parseOperand(match?.[1] ?? '')
  if (left === undefined) return undefined
  if (match?.[2] === undefined) return { kind: 'filter', left }
  const right = parseOperand(match[3] ?? '')
  return right && { kind: 'filter', left, operator: match[2] as Operator, right }
}

function parseOperand(text: string): Operand | undefined {
  if (text.startsWith('@')) {
    const path = parseJSONPath(text.slice(1))
    return path && { path }
  }
  const quoted = /^(['"])(.*)\1$/s.exec(text)
  if (quoted !== null) return { value: quoted[2] ?? '' }
  if (text === 'true' || text === 'false') return { value: text === 'true' }
  return text !== '' && Number.isFinite(Number(text)) ? { value: Number(text) } : undefined
}

/** Returns all values that the path leads to, in order; none if the object lacks a part of the path. */
export function findAll(path: JSONPath, root: unknown): unknown[] {
  return path.reduce<unknown[]>((values, step) => values.flatMap((value) => follow(step, value)), [root])
}

function follow(step: Step, value: unknown): unknown[] {
  switch (step.kind) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []
    case 'index':
      return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index)] : []
    case 'slice':
      return Array.isArray(value) ? value.slice(step.start, step.end).filter((_, index) => index % step.step === 0) : []
    case 'all':
      return children(value)
    case 'descend':
      return [value, ...children(value).flatMap((child) => follow(step, child))]
    case 'filter':
      return children(value).filter((item) => holds(step, item))
    default:
      return step satisfies never
  }
}

const children = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []

function holds(step: Extract<Step, { kind: 'filter' }>, item: unknown): boolean {
  const left = operandValue(step.left, item)
  if (step.operator === undefined || step.right === undefined) return left !== undefined
  const right = operandValue(step.right, item)
  if (left === undefined || right === undefined) return false
  return COMPARE[step.operator](left as number, right as number)
}
const operandValue = (operand: Operand, item: unknown): unknown =>
  'path' in operand ? findAll(operand.path, item)[0] : operand.value
const COMPARE: Record<Operator, (left: number, right: number) => boolean> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}
