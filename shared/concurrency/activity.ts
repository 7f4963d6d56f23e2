import { settle } from '../clock/settle.ts'

/** Counts what is under way, so that a caller can wait until nothing is. */
export class Activity {
  readonly #waiting = new Set<() => void>()
  #count = 0

  /** Counts until the work is done, or has failed. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#count++
    const end = (): void => {
      if (--this.#count > 0) return
      for (const wake of this.#waiting) wake()
      this.#waiting.clear()
    }
    work.then(end, end)
    return work
  }

  /** Resolves when nothing is under way, and nothing new begins at once. */
  async quiet(): Promise<void> {
    for (;;) {
      await settle()
      if (this.#count === 0) return
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }
}
