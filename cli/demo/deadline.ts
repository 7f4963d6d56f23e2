import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'

/** Names what did not happen in time. */
export class TimeIsUp extends Error {}

/** One time limit for several steps. */
export class Deadline {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #endMs: number

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#endMs = clock.monotonic() + timeoutMs
  }

  /** Resolves when the step does; rejects with a {@link TimeIsUp} when the time is over before. */
  async within(step: string, work: Promise<unknown>): Promise<void> {
    const leftMs = Math.max(0, this.#endMs - this.#clock.monotonic())
    if (await withinLimit(work, leftMs, this.#clock)) return
    work.catch(() => {}) // its end is no news any more
    throw new TimeIsUp(`${step} did not happen within ${this.#timeoutMs / 1000} s`)
  }
}
