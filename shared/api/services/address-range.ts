/**
 * The addresses of an IPv4 range that hosts can have: without the first (the network's) and the last (its broadcast).
 */
export class AddressRange {
  /** With the network's address, as the kernel wants it: `10.244.1.128/25`. */
  readonly cidr: string
  readonly size: number
  /** Holds the length of the prefix. */
  readonly bits: number
  readonly #first: number

  constructor(cidr: string) {
    const [address = '', bits = '32'] = cidr.split('/')
    this.bits = Number(bits)
    const all = 2 ** (32 - this.bits)
    const network = Math.floor(numberOf(address) / all) * all
    this.cidr = `${textOf(network)}/${bits}`
    this.size = Math.max(1, all - 2)
    this.#first = network + (all > 2 ? 1 : 0)
  }

  /** Returns the address at an index from 0 to `size` - 1. */
  at(index: number): string {
    return textOf(this.#first + index)
  }

  /** Returns the position of an address in the range; undefined for an address of another range. */
  indexOf(address: string): number | undefined {
    const index = numberOf(address) - this.#first
    return index >= 0 && index < this.size ? index : undefined
  }

  overlaps(other: AddressRange): boolean {
    return this.indexOf(other.at(0)) !== undefined || other.indexOf(this.at(0)) !== undefined
  }
}

export const numberOf = (address: string): number =>
  address.split('.').reduce((number, part) => number * 256 + Number(part), 0)

export const textOf = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
