import type { Environment, Optional } from '@marcbachmann/cel-js'
import { formatQuantity, parseQuantity, type Quantity, QuantityError } from '../../../shared/api/quantity.ts'
import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValueMessages,
  qualifiedName,
} from '../../validation/names.ts'
import { matchesFormat } from '../schema/formats.ts'
import { findMatches, patternMatches } from '../schema/re2.ts'
import { Cidr, Ip } from './addresses.ts'

const RE2_MATCHES = 'matchesRE2'
const LITERAL_OR_MATCHES = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\.\s*)matches(?=\s*\()/g
/**
 * The CEL library matches with JavaScript's regular expressions, whose time has no bound, and lets nobody replace that:
 * an expression that has passed its checks runs with RE2 under another name.
 */
export const withRe2 = (expression: string): string =>
  expression.replace(LITERAL_OR_MATCHES, (_, literal?: string, dot?: string) => literal ?? `${dot}${RE2_MATCHES}`)

/** What Kubernetes adds to CEL: strings, lists, regular expressions, quantities, addresses, URLs and formats. */
export function registerLibrary(env: Environment, optional: typeof Optional): void {
  for (const [name, type] of Object.entries(TYPES)) env.registerType(name, { ctor: type, fields: {} })
  for (const [name, namespace] of [
    ['format', FormatNamespace],
    ['math', MathNamespace],
    ['sets', SetsNamespace],
  ] as const) {
    env.registerConstant(name, namespace.name, new namespace())
  }
  for (const [signature, run] of FUNCTIONS) env.registerFunction(signature, run as never)
  env.registerFunction('NamedFormat.validate(string): optional<list<string>>', ((format: CelFormat, text: string) => {
    const messages = format.check(text)
    return messages.length === 0 ? optional.none() : optional.of(messages)
  }) as never)
}

class CelQuantity {
  readonly value: Quantity
  constructor(value: Quantity) {
    this.value = value
  }
}
class CelUrl {
  readonly value: URL
  readonly text: string
  constructor(text: string) {
    this.text = text
    this.value = new URL(text, 'relative:/')
  }
}
class CelFormat {
  readonly check: (text: string) => string[]
  constructor(check: (text: string) => string[]) {
    this.check = check
  }
}
class FormatNamespace {}
class MathNamespace {}
class SetsNamespace {}

const TYPES = {
  Quantity: CelQuantity,
  Url: CelUrl,
  Ip,
  Cidr,
  NamedFormat: CelFormat,
  FormatNamespace,
  MathNamespace,
  SetsNamespace,
}

const quantity = (text: string): CelQuantity => new CelQuantity(parseQuantity(text))
const isQuantity = (text: string): boolean => {
  try {
    parseQuantity(text)
    return true
  } catch (error) {
    if (error instanceof QuantityError) return false
    throw error
  }
}
const compare = (left: CelQuantity, right: CelQuantity): number => order(left.value.nano, right.value.nano)
const sum = (left: CelQuantity, nano: bigint): CelQuantity =>
  new CelQuantity({ ...left.value, nano: left.value.nano + nano })
const NANO = 1_000_000_000n

const url = (text: string): CelUrl => {
  if (!isUrl(text))
    throw new Error(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    )
  return new CelUrl(text)
}
const isUrl = (text: string): boolean => matchesFormat('uri', text)

const order = (left: unknown, right: unknown): number =>
  (left as number) < (right as number) ? -1 : (left as number) > (right as number) ? 1 : 0
const same = (left: unknown, right: unknown): boolean => left === right || order(left, right) === 0
const extreme = (items: unknown[], sign: number): unknown => {
  if (items.length === 0) throw new Error(`${sign < 0 ? 'min' : 'max'} called on empty list`)
  return items.reduce((best, item) => (order(item, best) * sign > 0 ? item : best))
}
const contains = (list: unknown[], item: unknown): boolean => list.some((other) => same(other, item))
const position = (index: number): bigint => BigInt(index)

const NAMED_FORMATS: Record<string, (text: string) => string[]> = {
  dns1123Label,
  dns1123Subdomain,
  dns1035Label,
  qualifiedName,
  labelValue: labelValueMessages,
  uri: (text) => (matchesFormat('uri', text) ? [] : ['invalid URI']),
  uuid: (text) => (matchesFormat('uuid', text) ? [] : ['does not match the UUID format']),
  byte: (text) => (matchesFormat('byte', text) ? [] : ['invalid base64']),
  date: (text) => (matchesFormat('date', text) ? [] : ['invalid date']),
  datetime: (text) => (matchesFormat('date-time', text) ? [] : ['invalid datetime']),
}

type Handler = (...args: never[]) => unknown
const FUNCTIONS: [signature: string, run: Handler][] = [
  ['string.charAt(int): string', (text: string, at: bigint) => [...text][Number(at)] ?? ''],
  [
    'string.replace(string, string): string',
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  ],
  [
    'string.replace(string, string, int): string',
    (text: string, from: string, to: string, times: bigint) => replaceSome(text, { from, to, times: Number(times) }),
  ],
  ['string.reverse(): string', (text: string) => [...text].reverse().join('')],
  ['string.find(string): string', (text: string, pattern: string) => findMatches(pattern, text, 1)[0] ?? ''],
  ['string.findAll(string): list<string>', (text: string, pattern: string) => findMatches(pattern, text)],
  [
    'string.findAll(string, int): list<string>',
    (text: string, pattern: string, limit: bigint) =>
      findMatches(pattern, text, limit < 0n ? undefined : Number(limit)),
  ],
  [`string.${RE2_MATCHES}(string): bool`, (text: string, pattern: string) => patternMatches(pattern, text)],
  ['matches(string, string): bool', (text: string, pattern: string) => patternMatches(pattern, text)],
  [
    'list.isSorted(): bool',
    (items: unknown[]) => items.every((item, index) => index === 0 || order(items[index - 1], item) <= 0),
  ],
  [
    'list.sum(): dyn',
    (items: (bigint | number)[]) =>
      items.reduce(
        (total, item) => ((total as number) + (item as number)) as never,
        typeof items[0] === 'number' ? 0 : (0n as never),
      ),
  ],
  ['list.min(): dyn', (items: unknown[]) => extreme(items, -1)],
  ['list.max(): dyn', (items: unknown[]) => extreme(items, 1)],
  [
    'list.indexOf(dyn): int',
    (items: unknown[], item: unknown) => position(items.findIndex((other) => same(other, item))),
  ],
  [
    'list.lastIndexOf(dyn): int',
    (items: unknown[], item: unknown) => position(items.findLastIndex((other) => same(other, item))),
  ],
  [
    'SetsNamespace.contains(list, list): bool',
    (_: unknown, list: unknown[], items: unknown[]) => items.every((item) => contains(list, item)),
  ],
  [
    'SetsNamespace.intersects(list, list): bool',
    (_: unknown, list: unknown[], items: unknown[]) => items.some((item) => contains(list, item)),
  ],
  [
    'SetsNamespace.equivalent(list, list): bool',
    (_: unknown, list: unknown[], items: unknown[]) =>
      items.every((item) => contains(list, item)) && list.every((item) => contains(items, item)),
  ],
  ['MathNamespace.greatest(dyn, dyn): dyn', (_: unknown, left: unknown, right: unknown) => extreme([left, right], 1)],
  ['MathNamespace.least(dyn, dyn): dyn', (_: unknown, left: unknown, right: unknown) => extreme([left, right], -1)],
  ['quantity(string): Quantity', quantity],
  ['isQuantity(string): bool', isQuantity],
  ['Quantity.isGreaterThan(Quantity): bool', (left: CelQuantity, right: CelQuantity) => compare(left, right) > 0],
  ['Quantity.isLessThan(Quantity): bool', (left: CelQuantity, right: CelQuantity) => compare(left, right) < 0],
  [
    'Quantity.compareTo(Quantity): int',
    (left: CelQuantity, right: CelQuantity) => BigInt(Math.sign(compare(left, right))),
  ],
  ['Quantity.add(Quantity): Quantity', (left: CelQuantity, right: CelQuantity) => sum(left, right.value.nano)],
  ['Quantity.add(int): Quantity', (left: CelQuantity, right: bigint) => sum(left, right * NANO)],
  ['Quantity.sub(Quantity): Quantity', (left: CelQuantity, right: CelQuantity) => sum(left, -right.value.nano)],
  ['Quantity.sub(int): Quantity', (left: CelQuantity, right: bigint) => sum(left, -right * NANO)],
  ['Quantity.sign(): int', ({ value }: CelQuantity) => (value.nano > 0n ? 1n : value.nano < 0n ? -1n : 0n)],
  ['Quantity.isInteger(): bool', ({ value }: CelQuantity) => value.nano % NANO === 0n],
  [
    'Quantity.asInteger(): int',
    ({ value }: CelQuantity) => {
      if (value.nano % NANO !== 0n) throw new Error('cannot convert value to integer')
      return value.nano / NANO
    },
  ],
  ['Quantity.asApproximateFloat(): double', ({ value }: CelQuantity) => Number(value.nano) / 1e9],
  ['string(Quantity): string', ({ value }: CelQuantity) => formatQuantity(value)],
  ['isIP(string): bool', (text: string) => Ip.parse(text) !== undefined],
  ['ip(string): Ip', (text: string) => Ip.require(text)],
  ['Ip.family(): int', (ip: Ip) => BigInt(ip.family)],
  ['Ip.isUnspecified(): bool', (ip: Ip) => ip.isUnspecified()],
  ['Ip.isLoopback(): bool', (ip: Ip) => ip.isLoopback()],
  ['Ip.isLinkLocalMulticast(): bool', (ip: Ip) => ip.isLinkLocalMulticast()],
  ['Ip.isLinkLocalUnicast(): bool', (ip: Ip) => ip.isLinkLocalUnicast()],
  ['Ip.isGlobalUnicast(): bool', (ip: Ip) => ip.isGlobalUnicast()],
  ['string(Ip): string', (ip: Ip) => ip.text],
  ['isCIDR(string): bool', (text: string) => Cidr.parse(text) !== undefined],
  ['cidr(string): Cidr', (text: string) => Cidr.require(text)],
  ['Cidr.containsIP(Ip): bool', (cidr: Cidr, ip: Ip) => cidr.contains(ip)],
  ['Cidr.containsIP(string): bool', (cidr: Cidr, text: string) => cidr.contains(Ip.require(text))],
  ['Cidr.containsCIDR(Cidr): bool', (cidr: Cidr, other: Cidr) => cidr.containsCidr(other)],
  ['Cidr.containsCIDR(string): bool', (cidr: Cidr, text: string) => cidr.containsCidr(Cidr.require(text))],
  ['Cidr.ip(): Ip', (cidr: Cidr) => cidr.ip],
  ['Cidr.prefixLength(): int', (cidr: Cidr) => BigInt(cidr.prefixLength)],
  ['string(Cidr): string', (cidr: Cidr) => `${cidr.ip.text}/${cidr.prefixLength}`],
  ['isURL(string): bool', isUrl],
  ['url(string): Url', url],
  ['Url.getScheme(): string', ({ value, text }: CelUrl) => (text.startsWith('/') ? '' : value.protocol.slice(0, -1))],
  ['Url.getHost(): string', ({ value }: CelUrl) => value.host],
  ['Url.getHostname(): string', ({ value }: CelUrl) => value.hostname.replace(/^\[|\]$/g, '')],
  ['Url.getPort(): string', ({ text }: CelUrl) => /^[^/]*\/\/[^/?#]*:(\d+)/.exec(text)?.[1] ?? ''],
  ['Url.getEscapedPath(): string', ({ value }: CelUrl) => value.pathname],
  [
    'Url.getQuery(): map<string, list<string>>',
    ({ value }: CelUrl) =>
      Object.fromEntries([...new Set(value.searchParams.keys())].map((key) => [key, value.searchParams.getAll(key)])),
  ],
  ...Object.entries(NAMED_FORMATS).map(([name, check]): [string, Handler] => [
    `FormatNamespace.${name}(): NamedFormat`,
    () => new CelFormat(check),
  ]),
]

function replaceSome(text: string, { from, to, times }: { from: string; to: string; times: number }): string {
  if (times < 0) return text.replaceAll(from, () => to)
  let rest = text
  let out = ''
  for (let count = 0; count < times; count++) {
    const at = rest.indexOf(from)
    if (at < 0) break
    out += rest.slice(0, at) + to
    rest = rest.slice(at + from.length)
  }
  return out + rest
}
