/** Random choices that a seed decides: mulberry32. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  chance(of: number): boolean {
    return this.next() < of
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  times<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make)
  }

  bytes(most: number): Buffer {
    return Buffer.from(this.times(most, () => this.below(256)))
  }

  /** The same bytes with some of them changed, left out, repeated or cut. */
  mutated(bytes: Buffer): Buffer {
    const changed = Buffer.from(bytes)
    for (let count = this.below(4); count > 0 && changed.length > 0; count--)
      changed[this.below(changed.length)] = this.below(256)
    const at = this.below(changed.length + 1)
    const to = Math.min(changed.length, at + this.below(16))
    switch (this.below(5)) {
      case 0:
        return changed.subarray(0, at)
      case 1:
        return Buffer.concat([changed.subarray(0, at), changed.subarray(to)])
      case 2:
        return Buffer.concat([changed.subarray(0, to), changed.subarray(at)])
      default:
        return changed
    }
  }

  /** In pieces, as the network might bring them. */
  pieces(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + this.below(this.chance(0.3) ? 8 : bytes.length)
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    return pieces
  }
}
