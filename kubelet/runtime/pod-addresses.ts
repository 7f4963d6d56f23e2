import type { AddressRange } from '../../shared/api/services/address-range.ts'

/** Addresses of pods: counted up after the one at `last`, so that an address is not soon used again. */
export class PodAddresses {
  readonly #range: AddressRange
  readonly #used = new Set<string>()
  #last: number

  constructor(range: AddressRange, last: number) {
    this.#range = range
    this.#last = last < 0 ? -1 : last % range.size
  }

  keep(address: string): void {
    this.#used.add(address)
    this.#last = Math.max(this.#last, this.#range.indexOf(address) ?? -1)
  }

  /** An address that no pod gets. */
  reserve(address: string): void {
    this.#used.add(address)
  }

  take(): string {
    const { size, cidr } = this.#range
    for (let tries = 0; tries < size; tries++) {
      this.#last = (this.#last + 1) % size
      const address = this.#range.at(this.#last)
      if (this.#used.has(address)) continue
      this.#used.add(address)
      return address
    }
    throw new Error(`no pod address is left in ${cidr}`)
  }

  give(address: string): void {
    this.#used.delete(address)
  }
}
