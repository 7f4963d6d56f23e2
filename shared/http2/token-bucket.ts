import type { Clock } from '../clock/clock.ts'

/** Lets `burst` through at once and `perSecond` in the long run. */
export class TokenBucket {
  readonly #clock: Clock
  readonly #burst: number
  readonly #perSecond: number
  #tokens: number
  #filledMs: number

  constructor(clock: Clock, { burst, perSecond }: { burst: number; perSecond: number }) {
    this.#clock = clock
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
    this.#filledMs = clock.monotonic()
  }

  /** Takes `cost` tokens; false when fewer are left. */
  take(cost = 1): boolean {
    if (this.#tokens < cost) {
      const nowMs = this.#clock.monotonic()
      this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#filledMs) / 1000) * this.#perSecond)
      this.#filledMs = nowMs
    }
    if (this.#tokens < cost) return false
    this.#tokens -= cost
    return true
  }

  give(tokens: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + tokens)
  }
}
