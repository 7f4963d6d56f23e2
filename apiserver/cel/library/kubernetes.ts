/** Kubernetes adds this to CEL: quantities, versions, addresses, URLs and formats. */
import { parseQuantity, type Quantity, QuantityError } from '../../../shared/api/quantities/quantity.ts'
import { matchesFormat } from '../../schema/formats.ts'
import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValueMessages,
  qualifiedName,
} from '../../validation/names.ts'
import { CelError } from '../errors.ts'
import { forgive } from '../meter.ts'
import type { Signature } from '../overloads.ts'
import { OpaqueValue, Optional } from '../values.ts'
import { Cidr, Ip } from './addresses.ts'
import { Semver } from './semver.ts'

const NANO = 1_000_000_000n
class CelQuantity extends OpaqueValue {
  readonly typeName = 'kubernetes.Quantity'
  readonly value: Quantity
  constructor(value: Quantity) {
    super()
    this.value = value
  }
  static parse(text: string): CelQuantity {
    try {
      return new CelQuantity(parseQuantity(text))
    } catch (error) {
      throw error instanceof QuantityError ? new CelError(error.message) : error
    }
  }
  compare({ value }: CelQuantity): bigint {
    return this.value.nano < value.nano ? -1n : this.value.nano > value.nano ? 1n : 0n
  }
  equals(other: CelQuantity): boolean {
    return this.compare(other) === 0n
  }
  plus(nano: bigint): CelQuantity {
    return new CelQuantity({ ...this.value, nano: this.value.nano + nano })
  }
  get isInteger(): boolean {
    const whole = this.value.nano / NANO
    return this.value.nano % NANO === 0n && whole < 2n ** 63n && whole >= -(2n ** 63n)
  }
}
const succeeds = (parse: () => unknown): boolean => {
  try {
    parse()
    return true
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    forgive(error)
    return false
  }
}

const URL_PARTS = /^(?:([A-Za-z][\w+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?/
class CelUrl extends OpaqueValue {
  readonly typeName = 'kubernetes.URL'
  readonly text: string
  readonly scheme: string
  /** Holds the host with its port, and without a user. */
  readonly host: string
  readonly #path: string
  readonly #query: string

  constructor(text: string) {
    super()
    const [, scheme = '', authority = '', path = '', query = ''] = URL_PARTS.exec(text) ?? []
    this.text = text
    this.scheme = scheme.toLowerCase()
    this.host = authority.replace(/^.*@/, '')
    this.#path = path
    this.#query = query
  }
  static parse(this: void, text: string): CelUrl {
    if (matchesFormat('uri', text)) return new CelUrl(text)
    throw new CelError(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    )
  }
  equals(other: CelUrl): boolean {
    return this.text === other.text
  }
  get escapedPath(): string {
    return this.#path.replace(/[^\w\-.~!$&'()*+,;=:@/%]+/g, encodeURIComponent)
  }
  get query(): Map<string, string[]> {
    const query = new Map<string, string[]>()
    for (const [key, value] of new URLSearchParams(this.#query)) {
      const values = query.get(key)
      if (values === undefined) query.set(key, [value])
      else values.push(value)
    }
    return query
  }
}

class Format extends OpaqueValue {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly check: (text: string) => string[]
  /** Characters of its regular expression, by which a call costs. */
  readonly regexSize: number
  constructor(check: (text: string) => string[], regexSize: number) {
    super()
    this.check = check
    this.regexSize = regexSize
  }
  equals(other: Format): boolean {
    return this.check === other.check
  }
}
/** A name that something is appended to may end with a dash. */
const prefix = (check: (text: string) => string[]) => (text: string) => check(text.replace(/-$/, 'a'))
const formatted = (name: string, message: string) => (text: string) => (matchesFormat(name, text) ? [] : [message])
const FORMATS: ReadonlyMap<string, Format> = new Map(
  Object.entries<[size: number, check: (text: string) => string[]]>({
    dns1123Label: [30, dns1123Label],
    dns1123Subdomain: [60, dns1123Subdomain],
    dns1035Label: [30, dns1035Label],
    dns1123LabelPrefix: [30, prefix(dns1123Label)],
    dns1123SubdomainPrefix: [60, prefix(dns1123Subdomain)],
    dns1035LabelPrefix: [30, prefix(dns1035Label)],
    qualifiedName: [60, qualifiedName],
    labelValue: [40, labelValueMessages],
    uri: [
      1103,
      (text) => (matchesFormat('uri', text) ? [] : [`parse ${JSON.stringify(text)}: invalid URI for request`]),
    ],
    uuid: [81, formatted('uuid', 'does not match the UUID format')],
    byte: [84, formatted('byte', 'invalid base64')],
    date: [75, formatted('date', 'invalid date')],
    datetime: [75, formatted('datetime', 'invalid datetime')],
  }).map(([name, [size, check]]) => [name, new Format(check, size)]),
)
function validate({ check }: Format, text: string): Optional {
  const messages = check(text)
  return messages.length === 0 ? Optional.none : new Optional(messages)
}
function namedFormat(name: string): Optional {
  const found = FORMATS.get(name)
  return found === undefined ? Optional.none : new Optional(found)
}

const QUANTITIES: readonly Signature[] = [
  ['quantity(string): Quantity', CelQuantity.parse],
  ['isQuantity(string): bool', (text: string) => succeeds(() => CelQuantity.parse(text))],
  ['Quantity.isGreaterThan(Quantity): bool', (left: CelQuantity, right: CelQuantity) => left.compare(right) > 0n],
  ['Quantity.isLessThan(Quantity): bool', (left: CelQuantity, right: CelQuantity) => left.compare(right) < 0n],
  ['Quantity.compareTo(Quantity): int', (left: CelQuantity, right: CelQuantity) => left.compare(right)],
  ['Quantity.add(Quantity): Quantity', (left: CelQuantity, right: CelQuantity) => left.plus(right.value.nano)],
  ['Quantity.add(int): Quantity', (left: CelQuantity, right: bigint) => left.plus(right * NANO)],
  ['Quantity.sub(Quantity): Quantity', (left: CelQuantity, right: CelQuantity) => left.plus(-right.value.nano)],
  ['Quantity.sub(int): Quantity', (left: CelQuantity, right: bigint) => left.plus(-right * NANO)],
  ['sign(Quantity): int', ({ value }: CelQuantity) => (value.nano > 0n ? 1n : value.nano < 0n ? -1n : 0n)],
  ['Quantity.isInteger(): bool', ({ isInteger }: CelQuantity) => isInteger],
  [
    'Quantity.asInteger(): int',
    ({ value, isInteger }: CelQuantity) => {
      if (!isInteger) throw new CelError('cannot convert value to integer')
      return value.nano / NANO
    },
  ],
  ['Quantity.asApproximateFloat(): double', ({ value }: CelQuantity) => Number(value.nano) / 1e9],
]
const VERSIONS: readonly Signature[] = [
  ['semver(string): Semver', (text: string) => Semver.parse(text)],
  ['semver(string, bool): Semver', Semver.parse],
  ['isSemver(string): bool', (text: string) => succeeds(() => Semver.parse(text))],
  ['isSemver(string, bool): bool', (text: string, loose: boolean) => succeeds(() => Semver.parse(text, loose))],
  ['Semver.isGreaterThan(Semver): bool', (left: Semver, right: Semver) => left.compare(right) > 0],
  ['Semver.isLessThan(Semver): bool', (left: Semver, right: Semver) => left.compare(right) < 0],
  ['Semver.compareTo(Semver): int', (left: Semver, right: Semver) => BigInt(left.compare(right))],
  ['Semver.major(): int', ({ major }: Semver) => major],
  ['Semver.minor(): int', ({ minor }: Semver) => minor],
  ['Semver.patch(): int', ({ patch }: Semver) => patch],
]
const ADDRESSES: readonly Signature[] = [
  ['isIP(string): bool', (text: string) => Ip.parse(text) !== undefined],
  ['ip(string): IP', Ip.require],
  ['ip.isCanonical(string): bool', (text: string) => Ip.require(text).canonical === text],
  ['IP.family(): int', (ip: Ip) => BigInt(ip.family)],
  ['IP.isUnspecified(): bool', (ip: Ip) => ip.isUnspecified()],
  ['IP.isLoopback(): bool', (ip: Ip) => ip.isLoopback()],
  ['IP.isLinkLocalMulticast(): bool', (ip: Ip) => ip.isLinkLocalMulticast()],
  ['IP.isLinkLocalUnicast(): bool', (ip: Ip) => ip.isLinkLocalUnicast()],
  ['IP.isGlobalUnicast(): bool', (ip: Ip) => ip.isGlobalUnicast()],
  ['string(IP): string', (ip: Ip) => ip.canonical],
  ['isCIDR(string): bool', (text: string) => Cidr.parse(text) !== undefined],
  ['cidr(string): CIDR', Cidr.require],
  ['CIDR.containsIP(IP): bool', (cidr: Cidr, ip: Ip) => cidr.contains(ip)],
  ['CIDR.containsIP(string): bool', (cidr: Cidr, text: string) => cidr.contains(Ip.require(text))],
  ['CIDR.containsCIDR(CIDR): bool', (cidr: Cidr, other: Cidr) => cidr.containsCidr(other)],
  ['CIDR.containsCIDR(string): bool', (cidr: Cidr, text: string) => cidr.containsCidr(Cidr.require(text))],
  ['CIDR.ip(): IP', (cidr: Cidr) => cidr.ip],
  ['CIDR.prefixLength(): int', (cidr: Cidr) => BigInt(cidr.prefixLength)],
  ['CIDR.masked(): CIDR', (cidr: Cidr) => cidr.masked()],
  ['string(CIDR): string', (cidr: Cidr) => `${cidr.ip.canonical}/${cidr.prefixLength}`],
]
const URLS: readonly Signature[] = [
  ['isURL(string): bool', (text: string) => matchesFormat('uri', text)],
  ['url(string): URL', CelUrl.parse],
  ['URL.getScheme(): string', ({ scheme }: CelUrl) => scheme],
  ['URL.getHost(): string', ({ host }: CelUrl) => host],
  ['URL.getHostname(): string', ({ host }: CelUrl) => host.replace(/:\d*$/, '').replace(/^\[|\]$/g, '')],
  ['URL.getPort(): string', ({ host }: CelUrl) => /:(\d+)$/.exec(host)?.[1] ?? ''],
  ['URL.getEscapedPath(): string', ({ escapedPath }: CelUrl) => escapedPath],
  ['URL.getQuery(): map<string, list<string>>', ({ query }: CelUrl) => query],
]

export const KUBERNETES: readonly Signature[] = [
  ...QUANTITIES,
  ...VERSIONS,
  ...ADDRESSES,
  ...URLS,
  ...[...FORMATS].map(([name, value]): Signature => [`format.${name}(): Format`, () => value]),
  ['format.named(string): optional<Format>', namedFormat],
  ['Format.validate(string): optional<list<string>>', validate],
]
