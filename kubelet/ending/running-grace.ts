import type { Clock, Timer } from '../../shared/clock/clock.ts'

/** Keeps the running grace periods of all containers. */
export class RunningGraces {
  readonly #clock: Clock
  readonly #running = new Map<string, Set<RunningGrace>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `onShortened` is told the whole grace, where it is less than `seconds` in the end. */
  begin(podUid: string, seconds: number, { onShortened }: { onShortened(seconds: number): void }): RunningGrace {
    const ofPod = this.#running.get(podUid) ?? new Set()
    this.#running.set(podUid, ofPod)
    const end = (): void => {
      ofPod.delete(grace)
      if (ofPod.size === 0 && this.#running.get(podUid) === ofPod) this.#running.delete(podUid)
    }
    const grace = new RunningGrace(seconds, this.#clock, { end, onShortened })
    ofPod.add(grace)
    return grace
  }

  /**
   * The containers of a pod that are being stopped have had `seconds` from the beginning, and no more. It never
   * lengthens.
   */
  shorten(podUid: string, seconds: number): void {
    for (const grace of this.#running.get(podUid) ?? []) grace.shorten(seconds)
  }
}

/** The grace period of one container that is being stopped. What is waited for is charged to it, in whole seconds. */
export class RunningGrace {
  /** Seconds that are left; 0 or less: none. */
  left: number
  readonly end: () => void
  #seconds: number
  readonly #clock: Clock
  readonly #told: { onShortened(seconds: number): void }
  #listener: ((left: number) => void) | undefined
  #rearm: (() => void) | undefined

  constructor(seconds: number, clock: Clock, told: { end(): void; onShortened(seconds: number): void }) {
    this.left = seconds
    this.#seconds = seconds
    this.#clock = clock
    this.end = told.end
    this.#told = told
  }

  /**
   * Begins `work` and waits for it, but no longer than what is left, which is not nothing. False: it was not done in
   * time; it goes on then. The grace counts from before the work, so that work which takes all of it is late.
   */
  async charge(work: () => Promise<unknown>): Promise<boolean> {
    const startedMs = this.#clock.monotonic()
    const limit = Promise.withResolvers<false>()
    let timer: Timer | undefined
    this.#rearm = () => {
      timer?.cancel()
      const sinceMs = this.#clock.monotonic() - startedMs
      timer = this.#clock.setTimer(this.left * 1000 - sinceMs, () => limit.resolve(false))
    }
    this.#rearm()
    try {
      return await Promise.race([work().then(() => true as const), limit.promise])
    } finally {
      timer?.cancel()
      this.#rearm = undefined
      this.left -= Math.floor((this.#clock.monotonic() - startedMs) / 1000)
    }
  }

  /** Calls `listener` with the seconds that are left whenever the grace period is shortened. */
  onShortened(listener: (left: number) => void): void {
    this.#listener = listener
  }

  shorten(seconds: number): void {
    if (seconds >= this.#seconds) return
    this.left -= this.#seconds - seconds
    this.#seconds = seconds
    this.#told.onShortened(seconds)
    this.#rearm?.()
    this.#listener?.(this.left)
  }
}
