import { createHash } from 'node:crypto'

/**
 * Pod addresses out of 127/8, which every Linux answers on without being asked: two pods may listen on one port if each binds its own.
 * The second number differs from node to node (64 … 127), the rest counts up from somewhere, so that nodes of one machine do not
 * meet and an address is not soon used again.
 */
export class PodAddresses {
  readonly #prefix: string
  readonly #used = new Set<string>()
  #next: number

  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest()
    this.#prefix = `127.${64 + (digest[0]! % 64)}`
    this.#next = digest.readUInt16BE(1) % 0xfffe
  }

  keep(address: string): void {
    this.#used.add(address)
    const [, , high, low] = address.split('.').map(Number)
    if (address.startsWith(`${this.#prefix}.`)) this.#next = Math.max(this.#next, (high ?? 0) * 256 + (low ?? 0))
  }

  take(): string {
    for (let tries = 0; tries < 0xffff; tries++) {
      this.#next = (this.#next % 0xfffe) + 1
      const address = `${this.#prefix}.${this.#next >> 8}.${this.#next & 0xff}`
      if (this.#used.has(address)) continue
      this.#used.add(address)
      return address
    }
    throw new Error('no pod address is left')
  }

  give(address: string): void {
    this.#used.delete(address)
  }
}
