import { isIP } from 'node:net'

/** An address in the strict form that CEL takes: no zone, no IPv4 in IPv6, no leading zeros. */
export class Ip {
  readonly text: string
  readonly family: 4 | 6
  readonly bits: bigint
  constructor(text: string, family: 4 | 6) {
    this.text = text
    this.family = family
    this.bits = family === 4 ? bitsOf4(text) : bitsOf6(text)
  }
  static parse(text: string): Ip | undefined {
    const family = isIP(text)
    if (family === 0 || text.includes('%') || (family === 6 && text.includes('.'))) return undefined
    return new Ip(text, family as 4 | 6)
  }
  static require(text: string): Ip {
    const ip = Ip.parse(text)
    if (ip === undefined)
      throw new Error(
        `IP Address ${JSON.stringify(text)} parse error during conversion from string: ParseAddr(${JSON.stringify(text)}): unable to parse IP`,
      )
    return ip
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
    return ranges.some((range) => Cidr.parse(range)?.contains(this) ?? false)
  }
}

export class Cidr {
  readonly ip: Ip
  readonly prefixLength: number
  constructor(ip: Ip, prefixLength: number) {
    this.ip = ip
    this.prefixLength = prefixLength
  }
  static parse(text: string): Cidr | undefined {
    const match = /^(.+)\/(\d|[1-9]\d{1,2})$/.exec(text)
    const ip = match && Ip.parse(match[1] ?? '')
    if (!ip || Number(match[2]) > width(ip)) return undefined
    return new Cidr(ip, Number(match[2]))
  }
  static require(text: string): Cidr {
    const cidr = Cidr.parse(text)
    if (cidr === undefined)
      throw new Error(
        `network address parse error during conversion from string: network address ${JSON.stringify(text)} is not a valid CIDR`,
      )
    return cidr
  }
  contains(ip: Ip): boolean {
    const shift = BigInt(width(this.ip) - this.prefixLength)
    return ip.family === this.ip.family && ip.bits >> shift === this.ip.bits >> shift
  }
  containsCidr(other: Cidr): boolean {
    return other.prefixLength >= this.prefixLength && this.contains(other.ip)
  }
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
