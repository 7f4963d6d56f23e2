import type { Clock, Timer } from '../../shared/clock/clock.ts'

/** The grace period of one container that is being stopped. What is waited for is charged to it, in whole seconds. */
export interface RunningGrace {
  /** Seconds that are left; 0 or less: none. */
  readonly left: number
  /**
   * Begins `work` and waits for it, but no longer than what is left, which is not nothing. False: it was not done in
   * time; it goes on then. The grace counts from before the work, so that work which takes all of it is late.
   */
  charge(work: () => Promise<unknown>): Promise<boolean>
  /** Calls `listener` with the seconds that are left whenever the grace period is shortened. */
  onShortened(listener: (left: number) => void): void
  end(): void
}
/** Keeps the running grace periods of all containers. */
export interface RunningGraces {
  /** `onShortened` is told the whole grace, where it is less than `seconds` in the end. */
  begin(podUid: string, seconds: number, options: { onShortened(seconds: number): void }): RunningGrace
  /**
   * The containers of a pod that are being stopped have had `seconds` from the beginning, and no more. It never
   * lengthens.
   */
  shorten(podUid: string, seconds: number): void
}

export function createRunningGraces(clock: Clock): RunningGraces {
  const running = new Map<string, Set<Grace>>()
  return {
    begin(podUid, seconds, { onShortened }) {
      const ofPod = running.get(podUid) ?? new Set()
      running.set(podUid, ofPod)
      const end = (): void => {
        ofPod.delete(grace)
        if (ofPod.size === 0 && running.get(podUid) === ofPod) running.delete(podUid)
      }
      const grace = new Grace(seconds, clock, { end, onShortened })
      ofPod.add(grace)
      return grace
    },
    shorten(podUid, seconds) {
      for (const grace of running.get(podUid) ?? []) grace.shorten(seconds)
    },
  }
}

class Grace implements RunningGrace {
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
