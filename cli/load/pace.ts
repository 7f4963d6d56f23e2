import type { Clock, Timer } from '../../shared/clock/clock.ts'

export interface PaceOptions {
  /** Holds the machine's clock. */
  clock: Clock
  betweenMs: number
  /** Requests under way at the same time; while there are as many, none is sent. */
  mostAtOnce: number
  send(): Promise<unknown>
}

/** The shortest time between two looks at the clock; requests that are due meanwhile are sent together. */
const leastBetweenMs = 5
/** A process that was halted sends no more than the requests of this time at once. */
const mostLateMs = 250

/** Sends requests at a steady pace, whether or not earlier ones were answered, until it is stopped. */
export class Pace {
  /** Requests that were due, and not sent: too many were under way, or the process was halted. */
  skipped = 0
  readonly #running = new Set<Promise<unknown>>()
  readonly #options: PaceOptions
  #nextMs: number
  #timer: Timer | undefined

  constructor(options: PaceOptions) {
    this.#options = options
    this.#nextMs = options.clock.monotonic()
    this.#tick()
  }

  /** Sends no more; resolves when the last request is over. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    await Promise.all(this.#running)
  }

  #tick(): void {
    const { clock, betweenMs } = this.#options
    const nowMs = clock.monotonic()
    for (; this.#nextMs <= nowMs; this.#nextMs += betweenMs) {
      if (nowMs - this.#nextMs > mostLateMs) this.skipped++
      else this.#sendOne()
    }
    this.#timer = clock.setTimer(Math.max(leastBetweenMs, this.#nextMs - nowMs), () => this.#tick())
  }

  #sendOne(): void {
    const { mostAtOnce, send } = this.#options
    if (this.#running.size >= mostAtOnce) {
      this.skipped++
      return
    }
    const one: Promise<unknown> = send().finally(() => this.#running.delete(one))
    this.#running.add(one)
  }
}
