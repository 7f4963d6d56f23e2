/**
 * The only door to time: nothing else in the project asks the machine what time it is, or sets a timer.
 * All durations are milliseconds of this clock, which a scaled or virtual clock may run faster than the machine's.
 */
export interface Clock {
  /** The number of the clock's seconds that pass in one second of the machine's: 1 unless the clock is scaled. */
  readonly scale: number
  /**
   * The machine's own pace, for limits on what does not get faster with the clock: answers of others, starts of
   * programs, what the user of a client waits for. The clock itself where nothing is scaled.
   */
  readonly machine: Clock
  /**
   * Returns milliseconds since the Unix epoch, for timestamps in API objects. They may jump; never use them to measure.
   */
  now(): number
  /** Returns the value of `now` when the machine's clock says `machineMs`, also in the past: for the times of files. */
  at(machineMs: number): number
  /** Milliseconds from an arbitrary origin, never going back, for measuring and deadlines. */
  monotonic(): number
  /**
   * Calls `callback` once, not earlier than `delayMs` from now; at once-ish for 0 or less. The timer keeps the process
   * alive unless `background`.
   */
  setTimer(delayMs: number, callback: () => void, options?: { background?: boolean }): Timer
  /** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
  sleep(delayMs: number, options?: { signal?: AbortSignal }): Promise<void>
}

export interface Timer {
  /** Idempotent; harmless after the timer fired. */
  cancel(): void
}
