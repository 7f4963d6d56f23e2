/**
 * Represents a resource.Quantity: an exact decimal number with binary (Ki, Mi …) and decimal (m, k, M …, e3) suffixes.
 * It is kept as an integer of nano units, with the family of suffixes in which it is formatted.
 */
export interface Quantity {
  /** The value times 10^9, rounded up to a whole number as upstream does. */
  nano: bigint
  format: QuantityFormat
}
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

export class QuantityError extends Error {}
const formatError = () =>
  new QuantityError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
const suffixError = () => new QuantityError("unable to parse quantity's suffix")

const NANO = 1_000_000_000n
const decimalExponents: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binaryPowers: Record<string, number> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const decimalSuffixes: [exponent: number, suffix: string][] = Object.entries(decimalExponents)
  .map(([suffix, exponent]): [number, string] => [exponent, suffix])
  .sort(([a], [b]) => b - a)
const binarySuffixes: [power: number, suffix: string][] = Object.entries(binaryPowers)
  .map(([suffix, power]): [number, string] => [power, suffix])
  .sort(([a], [b]) => b - a)
/** Larger numbers are cut off to this, as upstream does. */
const MAX = (2n ** 63n - 1n) * NANO

const divideUp = (value: bigint, by: bigint): bigint => {
  const quotient = value / by
  if (value % by === 0n) return quotient
  return value > 0n ? quotient + 1n : quotient - 1n
}

function exponentOf(suffix: string): { exponent: number; format: QuantityFormat } | { power: number } {
  const decimal = decimalExponents[suffix]
  if (decimal !== undefined) return { exponent: decimal, format: 'DecimalSI' }
  const binary = binaryPowers[suffix]
  if (binary !== undefined) return { power: binary }
  const scientific = /^[eE]([+-]?\d+)$/.exec(suffix)
  if (scientific && Math.abs(Number(scientific[1])) < 400) {
    return { exponent: Number(scientific[1]), format: 'DecimalExponent' }
  }
  throw suffixError()
}

const parsed = new Map<string, Quantity>()
const maxRemembered = 10_000
const maxRememberedLength = 64

/** Throws {@link QuantityError}. Remembers what it has read: the same few texts come again and again. */
export function parseQuantity(text: string): Readonly<Quantity> {
  const known = parsed.get(text)
  if (known) return known
  const quantity = readQuantity(text)
  if (parsed.size >= maxRemembered) parsed.clear()
  if (text.length <= maxRememberedLength) parsed.set(text, quantity)
  return quantity
}

/** A suffix begins with no digit, so that a long text is read once. As upstream, `k` alone is 0. */
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/
function readQuantity(text: string): Quantity {
  const match = QUANTITY.exec(text)
  if (!match || text === '') throw formatError()
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  const scale = exponentOf(suffix)
  const format = 'power' in scale ? 'BinarySI' : scale.format
  if (whole.replace(/^0+/, '').length > meaningfulDigits) return { nano: sign === '-' ? -MAX : MAX, format }
  return scaled(sign === '-' ? -1n : 1n, whole, meaningful(fraction), scale)
}

/** An exponent is at most 399: more digits are cut off as too large, or rounded up as too small. */
const meaningfulDigits = 500
const meaningful = (fraction: string): string =>
  fraction.length <= meaningfulDigits
    ? fraction
    : `${fraction.slice(0, meaningfulDigits)}${/[1-9]/.test(fraction.slice(meaningfulDigits)) ? '1' : ''}`

function scaled(sign: bigint, whole: string, fraction: string, scale: ReturnType<typeof exponentOf>): Quantity {
  const digits = BigInt(whole + fraction) * sign
  if ('power' in scale) {
    const nano = divideUp(digits * NANO * 2n ** BigInt(scale.power), 10n ** BigInt(fraction.length))
    return { nano: clamp(nano), format: 'BinarySI' }
  }
  const exponent = scale.exponent + 9 - fraction.length
  const nano = exponent >= 0 ? digits * 10n ** BigInt(exponent) : divideUp(digits, 10n ** BigInt(-exponent))
  return { nano: clamp(nano), format: scale.format }
}

const clamp = (nano: bigint): bigint => (nano > MAX ? MAX : nano < -MAX ? -MAX : nano)

/** The canonical text: no fraction, the largest suffix that leaves none. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0'
  const isWhole = nano % NANO === 0n
  if (format === 'BinarySI' && isWhole && (nano <= -1024n * NANO || nano >= 1024n * NANO)) {
    const value = nano / NANO
    for (const [power, suffix] of binarySuffixes) {
      if (value % 2n ** BigInt(power) === 0n) return `${value / 2n ** BigInt(power)}${suffix}`
    }
    return `${value}`
  }
  for (const [exponent, suffix] of decimalSuffixes) {
    const unit = 10n ** BigInt(exponent + 9)
    if (nano % unit !== 0n) continue
    if (format !== 'DecimalExponent') return `${nano / unit}${suffix}`
    return exponent === 0 ? `${nano / unit}` : `${nano / unit}e${exponent}`
  }
  throw new Error('unreachable: nano is whole')
}

const canonical = new Map<string, string>()
/** Returns the quantity in the form in which upstream formats it. */
export function canonicalQuantity(text: string): string {
  const known = canonical.get(text)
  if (known !== undefined) return known
  const plain = formatQuantity(parseQuantity(text))
  // A text that differs only in its plus sign or its capital E stays as it was written.
  const result = text.replace(/^\+/, '').replace('E', 'e') === plain.replace('E', 'e') ? text : plain
  if (canonical.size >= maxRemembered) canonical.clear()
  canonical.set(text, result)
  return result
}

/** Matches what a canonical quantity of less than a thousandth ends with. */
const belowMilli = /[nu]$|e-/

/** Rounds the amounts of resources up to whole thousandths, in place. Upstream: SetDefaults_ResourceList. */
export function roundUpAmounts(amounts: Record<string, string> | undefined): void {
  for (const name in amounts) if (belowMilli.test(amounts[name]!)) amounts[name] = roundUpToMilli(amounts[name]!)
}

export function roundUpToMilli(text: string): string {
  const { nano, format } = parseQuantity(text)
  return nano % 1_000_000n === 0n ? text : formatQuantity({ nano: divideUp(nano, 1_000_000n) * 1_000_000n, format })
}

export const compareQuantities = (a: string, b: string): number => {
  const [left, right] = [parseQuantity(a).nano, parseQuantity(b).nano]
  return left < right ? -1 : left > right ? 1 : 0
}
export const addQuantities = (a: string, b: string): string => {
  const [left, right] = [parseQuantity(a), parseQuantity(b)]
  const format = left.nano === 0n ? right.format : left.format
  return formatQuantity({ nano: left.nano + right.nano, format })
}
export const isZeroQuantity = (text: string): boolean => parseQuantity(text).nano === 0n
export const isNegativeQuantity = (text: string): boolean => parseQuantity(text).nano < 0n
/** Returns whole units, rounded up (upstream's Value). */
export const quantityValue = (text: string): number => Number(divideUp(parseQuantity(text).nano, NANO))
/** Thousandths, rounded up (upstream's MilliValue). */
export const quantityMilliValue = (text: string): number => Number(divideUp(parseQuantity(text).nano, 1_000_000n))
export const isWholeQuantity = (text: string): boolean => parseQuantity(text).nano % NANO === 0n
