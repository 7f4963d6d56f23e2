/** string.format: Go's verbs for the values of CEL. */
import { TRAVERSAL } from '../cost-units.ts'
import { CelError } from '../errors.ts'
import { charge } from '../meter.ts'
import { type CelType, printType } from '../types.ts'
import { Duration, StructValue, Timestamp, TypeValue, Uint } from '../values.ts'
import { goDouble } from './numbers.ts'
import { printDuration, printTimestamp } from './time.ts'

/** Digits after the point: a double has no more than some hundred that mean anything. */
const MAX_PRECISION = 100
/** Each clause costs this much, beside what it writes. */
const CLAUSE_COST = 2
const CLAUSE = /%(?:%|(?:\.(\d+))?([a-zA-Z])|)/g

export function format(text: string, args: unknown[]): string {
  let next = 0
  return text.replace(CLAUSE, (all, precision: string | undefined, verb: string | undefined) => {
    if (all === '%%') return '%'
    if (verb === undefined) throw new CelError('unexpected end of string')
    const write = VERBS[verb]
    if (write === undefined)
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
    if (next >= args.length) throw new CelError(`index ${next} out of range`)
    if (Number(precision) > MAX_PRECISION)
      throw new CelError(`error during formatting: precision must be at most ${MAX_PRECISION}`)
    charge(CLAUSE_COST)
    const written = write(args[next++], precision === undefined ? 6 : Number(precision))
    if (written === undefined) throw new CelError(`error during formatting: ${COMPLAINTS[verb]}`)
    return written
  })
}

/**
 * Checks a format text against the types of its arguments before evaluation, and returns the first problem; undefined
 * if there is none. `argument` is the index of the argument with the wrong type.
 */
export function formatProblem(
  text: string,
  types: readonly CelType[],
): { text: string; argument?: number } | undefined {
  let next = 0
  for (const [all, , verb] of text.matchAll(CLAUSE)) {
    if (all === '%%') continue
    if (verb === undefined) return { text: 'unexpected end of string' }
    if (!Object.hasOwn(VERBS, verb))
      return { text: `could not parse formatting clause: unrecognized formatting clause "${verb}"` }
    const type = types[next]
    if (type === undefined) return { text: `index ${next} out of range` }
    const taken = TAKEN[verb]
    if (taken !== undefined && type.kind !== 'dyn' && !taken.includes(type.kind))
      return { text: `error during formatting: ${COMPLAINTS[verb]}, was given ${printType(type)}`, argument: next }
    next++
  }
  return next < types.length
    ? { text: `too many arguments supplied to string.format (expected ${next}, got ${types.length})` }
    : undefined
}
const TAKEN: Record<string, readonly string[]> = {
  d: ['int', 'uint'],
  f: ['double'],
  e: ['double'],
  b: ['int', 'uint', 'bool'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
  o: ['int', 'uint'],
}

const COMPLAINTS: Record<string, string> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  x: 'only integers, byte buffers, and strings can be formatted as hex',
  X: 'only integers, byte buffers, and strings can be formatted as hex',
  o: 'octal clause can only be used on integers',
}
type Verb = (value: unknown, precision: number) => string | undefined
const integerOf = (value: unknown): bigint | undefined =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined
function hexOf(value: string | Uint8Array): string {
  charge(value.length * 4 * TRAVERSAL)
  return Buffer.from(value as string).toString('hex')
}
const hex = (value: unknown): string | undefined =>
  integerOf(value)?.toString(16) ??
  (typeof value === 'string' || value instanceof Uint8Array ? hexOf(value) : undefined)
const doubleOr = (value: unknown, write: (number: number) => string): string | undefined => {
  if (typeof value !== 'number') return undefined
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? write(value) : value > 0 ? '∞' : '-∞'
}
const grouped = (text: string): string => text.replace(/\d(?=(?:\d{3})+(?!\d))(?<!\.\d{0,100})/g, '$&,')
/** Always with six digits, and the exponent raised. */
function scientific(value: number): string {
  const [digits = '', exponent = ''] = value.toExponential(6).split('e')
  const raised = `${exponent.startsWith('-') ? '⁻' : ''}${exponent
    .slice(1)
    .padStart(2, '0')
    .replace(/\d/g, (digit) => RAISED.charAt(Number(digit)))}`
  return `${digits}×10${raised}`
}
const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const VERBS: Record<string, Verb> = {
  s: printValue,
  d: (value) => integerOf(value)?.toString(),
  f: (value, precision) => doubleOr(value, (number) => grouped(number.toFixed(precision))),
  e: (value) => doubleOr(value, scientific),
  b: (value) => (typeof value === 'boolean' ? (value ? '1' : '0') : integerOf(value)?.toString(2)),
  x: hex,
  X: (value) => hex(value)?.toUpperCase(),
  o: (value) => integerOf(value)?.toString(8),
}

/** Charges for what it writes: lists may share their items many times over. */
function printValue(value: unknown): string | undefined {
  charge(typeof value === 'string' || value instanceof Uint8Array ? 1 + value.length * TRAVERSAL : 1)
  if (typeof value === 'string') return value
  if (typeof value === 'number') return goDouble(value)
  if (typeof value === 'bigint' || typeof value === 'boolean' || value === null) return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof Timestamp) return printTimestamp(value)
  if (value instanceof Duration) return printDuration(value)
  if (value instanceof TypeValue) return value.type.name
  if (Array.isArray(value)) return `[${value.map(printItem).join(', ')}]`
  if (value instanceof Map) return printEntries([...value])
  if (value instanceof StructValue) return printEntries(value.names().map((name) => [name, value.get(name)]))
  return undefined
}
const printEntries = (entries: [unknown, unknown][]): string =>
  `{${entries
    .map(([key, item]) => `${printItem(key)}:${printItem(item)}`)
    .sort()
    .join(', ')}}`

/** Within a list or a map values are written as literals. */
function printItem(value: unknown): string | undefined {
  if (typeof value === 'string') {
    charge(1 + value.length * 2 * TRAVERSAL)
    return quote(value)
  }
  if (typeof value === 'number') return doubleOr(value, (number) => number.toFixed(6))
  if (value instanceof Uint8Array) return `b${quote(printValue(value) ?? '')}`
  if (value instanceof Timestamp) return `timestamp(${quote(printTimestamp(value))})`
  if (value instanceof Duration) return `duration(${quote(printDuration(value))})`
  return printValue(value)
}

const QUOTES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const QUOTED = /[\x07\b\f\n\r\t\v\\"]/g
export const quote = (text: string): string => `"${text.replace(QUOTED, (char) => QUOTES[char]!)}"`
