import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'

/** Thrown when a step did not happen in time; the message names the step. */
export class TimeIsUp extends Error {}

/** Shares one time limit between several steps. */
export class Deadline {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #endMs: number

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#endMs = clock.monotonic() + timeoutMs
  }

  /** Resolves when the step does. Rejects with a {@link TimeIsUp} if the time limit ends first. */
  async within(step: string, work: Promise<unknown>): Promise<void> {
    const leftMs = Math.max(0, this.#endMs - this.#clock.monotonic())
    if (await withinLimit(work, leftMs, this.#clock)) return
    work.catch(() => {}) // its end is no news any more
    throw new TimeIsUp(`${step} did not happen within ${this.#timeoutMs / 1000} s`)
  }
}
