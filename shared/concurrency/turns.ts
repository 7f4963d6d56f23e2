/** So many at the same time; who comes when all turns are taken waits, first come first served. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Nothing when it is the caller's turn at once. Who has had a turn gives it back. */
  take(): Promise<void> | undefined {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free--
    return undefined
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}
