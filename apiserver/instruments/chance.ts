/** Beyond it, counting starts again, so that the names do not grow without end. */
const maxCounted = 100_000

/**
 * Numbers from 0 up to 1 that look like chance: a function of the seed, of what is asked for, and of how often it was
 * before. So each thing that is asked for has the same luck in every run, in whatever order many are asked for at once.
 */
export class Chance {
  readonly #seed: number
  readonly #counts = new Map<string, number>()

  constructor(seed: number) {
    this.#seed = seed
  }

  next(what: string): number {
    const count = this.#counts.get(what) ?? 0
    if (this.#counts.size > maxCounted) this.#counts.clear()
    this.#counts.set(what, count + 1)
    return hash(`${this.#seed} ${count} ${what}`) / 2 ** 32
  }
}

/**
 * FNV-1a over the text, then murmur3's last mixing, without which texts that differ in one place have numbers that are
 * close.
 */
function hash(text: string): number {
  let bits = 0x811c9dc5
  for (let index = 0; index < text.length; index++) bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193)
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
