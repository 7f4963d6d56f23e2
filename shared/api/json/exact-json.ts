/**
 * JSON whose integers are exact: one that no JavaScript number holds (beyond 2⁵³ − 1) is a BigInt. All others are
 * numbers. Objects of the API server hold such BigInts; what computes with them takes `Number(value)` first.
 */

/** An integer beyond 2⁵³ − 1 has at least so many digits. */
const largeDigits = 16
/** Matches the beginning of such an integer. A match within a string only costs a second look. */
const largeNumber = /(?:^|[[:,\s])-?\d{16}/

const nine = 57
const isDigit = (code: number): boolean => code >= 48 && code <= nine

/**
 * Returns true if the text has this many digits in a row. It looks only at every sixteenth character: one of them is
 * such a digit.
 */
function hasManyDigits(text: string): boolean {
  for (let at = largeDigits - 1; at < text.length; at += largeDigits) {
    const code = text.charCodeAt(at)
    if (code > nine || !isDigit(code)) continue
    let from = at
    while (isDigit(text.charCodeAt(from - 1))) from--
    let to = at + 1
    while (isDigit(text.charCodeAt(to))) to++
    if (to - from >= largeDigits) return true
  }
  return false
}

/** Returns true if a text may hold an integer beyond 2⁵³ − 1. It is never false for a text that holds one. */
export const mayBeLarge = (text: string): boolean => hasManyDigits(text) && largeNumber.test(text)
/** Longer numbers than any unsigned integer of 64 bits are left to their own rounding. */
const maxDigits = 40

/** True after this process has met such an integer. Before that, no stored text needs a look. */
let met = false

interface Source {
  source: string
}
type Reviver = (key: string, value: unknown, context: Source) => unknown
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown

const int64Max = 2n ** 63n - 1n
export const int64Min = -(2n ** 63n)
/** Returns true if the value fits in Go's int64. */
export const isInt64 = (value: bigint): boolean => value >= int64Min && value <= int64Max

/** A number where that is exact, else the BigInt itself. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  met = true
  return value
}

/** Returns the value plus one, with the overflow of Go's int64: for an object's generation, or a revision. */
export const nextInt64 = (value: number): number =>
  value >= 0 && value < Number.MAX_SAFE_INTEGER
    ? value + 1
    : (exactInteger(BigInt.asIntN(64, BigInt(value) + 1n)) as number)

/**
 * The exact value of an integer's digits, of which `number` is what JavaScript makes; `number` for all other numbers.
 */
function exactOf(number: number, digits: string): number | bigint {
  if (Number.isSafeInteger(number) || digits.length > maxDigits || !/^-?\d+$/.test(digits)) return number
  return exactInteger(BigInt(digits))
}

const exactly: Reviver = (_key, value, { source }) => (typeof value === 'number' ? exactOf(value, source) : value)

/** Parses JSON as JSON.parse does, but keeps large integers exact. It is meant for text from outside. */
export function parseExact(text: string): unknown {
  if (!mayBeLarge(text)) return JSON.parse(text)
  try {
    return parseWith(text, exactly)
  } catch (error) {
    // A reviver recurses; text that is nested so deeply is refused for that.
    if (error instanceof RangeError) return JSON.parse(text)
    throw error
  }
}

/** A value of JSON that is no object and no list, as it is written: `2.0`, `"a\u00fc"`. */
export class JsonLiteral {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** Parses JSON, with a {@link JsonLiteral} for each number, text, truth value and null. */
export const parseLiterals = (text: string): unknown =>
  parseWith(text, (_key, value, { source }) => (source === undefined ? value : new JsonLiteral(source)))

/** As {@link parseExact}, but a number that is not written as an integer is a symbol, whose description it is. */
export const parseFractions = (text: string): unknown =>
  parseWith(text, (_key, value, { source }) => {
    if (typeof value !== 'number') return value
    return /^-?\d+$/.test(source) ? exactOf(value, source) : Symbol(source)
  })

/** Parses the text of an object that the API server stores, and keeps large integers exact. */
export const parseStored = (text: string): unknown => (met ? parseExact(text) : JSON.parse(text))

/** Takes text that is stored without having been parsed: from a file, or a snapshot. */
export function noteStored(text: string): void {
  met ||= mayBeLarge(text)
}

/** Returns true if a stored text may hold an integer beyond 2⁵³ − 1. */
export const mayHoldLarge = (text: string): boolean => met && mayBeLarge(text)

/** A parsed value as Go reads JSON of no type: what is no int64 is a float64. Changed in place. */
export function asUntyped<T>(value: T): T {
  if (met) round(value)
  return value
}

function round(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === 'object') round(member)
    else if (typeof member === 'bigint' && !isInt64(member)) (value as Record<string, unknown>)[key] = Number(member)
  }
}

const raw: (text: string) => unknown = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

type Replacer = (key: string, value: unknown) => unknown

/** As JSON.stringify, with every digit of a BigInt. A value that has none costs what it costs there. */
export function toJson(value: unknown, { indent, replacer }: { indent?: number; replacer?: Replacer } = {}): string {
  try {
    return JSON.stringify(value, replacer, indent)
  } catch {
    const exactly: Replacer = (key, found) => {
      const member = replacer ? replacer(key, found) : found
      return typeof member === 'bigint' ? raw(String(member)) : member
    }
    return JSON.stringify(value, exactly, indent)
  }
}
