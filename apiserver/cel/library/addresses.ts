import { isIP } from 'node:net'
import { CelError } from '../errors.ts'
import { OpaqueValue } from '../values.ts'

/** An address in the strict form that CEL takes: no zone, no IPv4 in IPv6, no leading zeros. */
export class Ip extends OpaqueValue {
  readonly typeName = 'net.IP'
  readonly text: string
  readonly family: 4 | 6
  readonly bits: bigint
  constructor(text: string, family: 4 | 6) {
    super()
    this.text = text
    this.family = family
    this.bits = family === 4 ? bitsOf4(text) : bitsOf6(text)
  }
  static parse(this: void, text: string): Ip | undefined {
    const family = isIP(text)
    if (family === 0 || text.includes('%') || isMapped(text)) return undefined
    return new Ip(text, family as 4 | 6)
  }
  static require(this: void, text: string): Ip {
    const ip = Ip.parse(text)
    if (ip !== undefined) return ip
    const shown = JSON.stringify(text)
    if (isMapped(text)) throw new CelError(`IPv4-mapped IPv6 address ${shown} is not allowed`)
    if (isIP(text) !== 0) throw new CelError(`IP address ${shown} with zone value is not allowed`)
    throw new CelError(`IP Address ${shown} parse error during conversion from string: ${notParsed(text)}`)
  }
  equals(other: Ip): boolean {
    return this.family === other.family && this.bits === other.bits
  }
  /** The form in which a program prints it. */
  get canonical(): string {
    return this.family === 4 ? this.text : printBits6(this.bits)
  }
  isUnspecified(): boolean {
    return this.bits === 0n
  }
  isLoopback(): boolean {
    return this.#within(['127.0.0.0/8', '::1/128'])
  }
  isLinkLocalMulticast(): boolean {
    return this.#within(['224.0.0.0/24', 'ff02::/16'])
  }
  isLinkLocalUnicast(): boolean {
    return this.#within(['169.254.0.0/16', 'fe80::/10'])
  }
  isGlobalUnicast(): boolean {
    return (
      !this.isUnspecified() &&
      this.text !== '255.255.255.255' &&
      !this.isLoopback() &&
      !this.isLinkLocalUnicast() &&
      !this.#within(['224.0.0.0/4', 'ff00::/8'])
    )
  }
  #within(ranges: string[]): boolean {
    return ranges.some((range) => network(range).contains(this))
  }
}

export class Cidr extends OpaqueValue {
  readonly typeName = 'net.CIDR'
  readonly ip: Ip
  readonly prefixLength: number
  constructor(ip: Ip, prefixLength: number) {
    super()
    this.ip = ip
    this.prefixLength = prefixLength
  }
  static parse(this: void, text: string): Cidr | undefined {
    const match = /^(.+)\/(\d|[1-9]\d{1,2})$/.exec(text)
    const ip = match && Ip.parse(match[1] ?? '')
    if (!ip || Number(match[2]) > width(ip)) return undefined
    return new Cidr(ip, Number(match[2]))
  }
  static require(this: void, text: string): Cidr {
    const cidr = Cidr.parse(text)
    if (cidr !== undefined) return cidr
    const conversion = 'network address parse error during conversion from string: '
    throw new CelError(`${conversion}${isMapped(text) ? '' : conversion}${prefixProblem(text)}`)
  }
  equals(other: Cidr): boolean {
    return this.ip.equals(other.ip) && this.prefixLength === other.prefixLength
  }
  /** Returns a copy whose bits beyond the prefix are cleared. */
  masked(): Cidr {
    const shift = BigInt(width(this.ip) - this.prefixLength)
    const bits = (this.ip.bits >> shift) << shift
    return new Cidr(
      new Ip(this.ip.family === 4 ? printBits4(bits) : printBits6(bits), this.ip.family),
      this.prefixLength,
    )
  }
  contains(ip: Ip): boolean {
    const shift = BigInt(width(this.ip) - this.prefixLength)
    return ip.family === this.ip.family && ip.bits >> shift === this.ip.bits >> shift
  }
  containsCidr(other: Cidr): boolean {
    return other.prefixLength >= this.prefixLength && this.contains(other.ip)
  }
}

const networks = new Map<string, Cidr>()
/** Reads one of the networks that this file names, once. */
function network(range: string): Cidr {
  const known = networks.get(range) ?? Cidr.require(range)
  networks.set(range, known)
  return known
}

/** Returns whether a text is an IPv4 address that is written as one of IPv6. */
const isMapped = (text: string): boolean => /^(?:::|0{1,4}:(?:0{1,4}:){4})ffff:/i.test(text)
const notParsed = (text: string): string => `ParseAddr(${JSON.stringify(text)}): unable to parse IP`
function prefixProblem(text: string): string {
  const [address = '', bits] = text.split(/\/(?=[^/]*$)/)
  const shown = `netip.ParsePrefix(${JSON.stringify(text)})`
  if (bits === undefined) return `${shown}: no '/'`
  if (isIP(address) === 0) return `${shown}: ${notParsed(address)}`
  if (isMapped(address)) return `IPv4-mapped IPv6 address ${JSON.stringify(address)} is not allowed`
  if (address.includes('%')) return `${shown}: IPv6 zones cannot be present in a prefix`
  return /^\d+$/.test(bits)
    ? `${shown}: prefix length out of range`
    : `${shown}: bad bits after slash: ${JSON.stringify(bits)}`
}

const width = (ip: Ip): number => (ip.family === 4 ? 32 : 128)
const bitsOf4 = (text: string): bigint => text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
function bitsOf6(text: string): bigint {
  const [head = '', tail] = text.split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
  return all.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}
const printBits4 = (bits: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.')
/** The longest run of zeros, the first of equals, is left out; a single one is not. */
function printBits6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(16 * (7 - index))) & 0xffffn).toString(16))
  const runs = [...groups.join(':').matchAll(/(?<![^:])0(?::0(?![^:]))+/g)]
  const longest = runs.reduce((best, [run]) => (run.length > best.length ? run : best), '')
  if (longest === '') return groups.join(':')
  const at = runs.find(([run]) => run.length === longest.length)!.index
  const text = groups.join(':')
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`
}
