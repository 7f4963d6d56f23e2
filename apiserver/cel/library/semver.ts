import { CelError } from '../errors.ts'
import { OpaqueValue } from '../values.ts'

const MAX = 2n ** 64n - 1n
const MAX_DIGITS = 20

/** A semantic version (2.0.0); what it was built from does not count in comparisons. */
export class Semver extends OpaqueValue {
  readonly typeName = 'kubernetes.Semver'
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  readonly #before: readonly string[]

  constructor([major, minor, patch]: readonly [bigint, bigint, bigint], before: readonly string[]) {
    super()
    this.major = major
    this.minor = minor
    this.patch = patch
    this.#before = before
  }

  /** `loose`: `v1`, `1.2` and `01.2.3` as well. Throws {@link CelError}. */
  static parse(this: void, text: string, loose = false): Semver {
    const source = loose ? normal(text) : text
    if (source === '') throw new CelError('Version string empty')
    const parts = source.split('.')
    if (parts.length < 3) throw new CelError('No Major.Minor.Patch elements found')
    const [, last = '', before, build] = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/.exec(parts.slice(2).join('.')) ?? []
    const numbers = [number(parts[0]!, 'major'), number(parts[1]!, 'minor'), number(last, 'patch')] as const
    const identifiers = before?.split('.') ?? []
    for (const identifier of identifiers) checkIdentifier(identifier, 'PreRelease')
    for (const identifier of build?.split('.') ?? []) checkIdentifier(identifier, 'Build meta data')
    return new Semver(numbers, identifiers)
  }

  compare(other: Semver): number {
    for (const part of ['major', 'minor', 'patch'] as const)
      if (this[part] !== other[part]) return this[part] < other[part] ? -1 : 1
    return compareIdentifiers(this.#before, other.#before)
  }
  equals(other: Semver): boolean {
    return this.compare(other) === 0
  }
}

function normal(text: string): string {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.')
  const patch = rest.length === 0 ? undefined : rest.join('.')
  const parts = [major, minor, patch].filter((part) => part !== undefined).map(withoutZeros)
  if (parts.length === 3) return parts.join('.')
  const last = parts.length - 1
  const [, digits = '', suffix = ''] = /^([^-+]*)(.*)$/.exec(parts[last] ?? '') ?? []
  if (suffix !== '') return parts.join('.')
  parts[last] = digits
  while (parts.length < 3) parts.push('0')
  return parts.join('.')
}
function withoutZeros(part: string): string {
  if (part.length < 2) return part
  const rest = part.replace(/^0+/, '')
  return /^\d/.test(rest) ? rest : `0${rest}`
}

function number(text: string, what: string): bigint {
  const shown = JSON.stringify(text)
  const title = what.charAt(0).toUpperCase() + what.slice(1)
  if (!/^\d+$/.test(text)) throw new CelError(`Invalid character(s) found in ${what} number ${shown}`)
  if (text.length > 1 && text.startsWith('0'))
    throw new CelError(`${title} number must not contain leading zeroes ${shown}`)
  const value = text.length > MAX_DIGITS ? MAX + 1n : BigInt(text)
  if (value > MAX) throw new CelError(`strconv.ParseUint: parsing ${shown}: value out of range`)
  return value
}
function checkIdentifier(text: string, what: string): void {
  if (text === '') throw new CelError(what === 'PreRelease' ? 'Prerelease is empty' : `${what} is empty`)
  if (!/^[0-9A-Za-z-]+$/.test(text))
    throw new CelError(
      what === 'PreRelease'
        ? `Invalid character(s) found in prerelease ${JSON.stringify(text)}`
        : `Invalid character(s) found in build meta data ${JSON.stringify(text)}`,
    )
  if (what === 'PreRelease' && /^0\d+$/.test(text))
    throw new CelError(`Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(text)}`)
}

/** A version without identifiers comes after all; numbers come before words. */
function compareIdentifiers(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return Math.sign(right.length - left.length)
  for (const [index, identifier] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    const order = compareIdentifier(identifier, other)
    if (order !== 0) return order
  }
  return left.length < right.length ? -1 : 0
}
function compareIdentifier(left: string, right: string): number {
  if (left === right) return 0
  const [isNumber, otherIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
  if (isNumber !== otherIsNumber) return isNumber ? -1 : 1
  return (isNumber ? BigInt(left) < BigInt(right) : left < right) ? -1 : 1
}
