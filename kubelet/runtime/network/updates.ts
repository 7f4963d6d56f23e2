import type { Clock, Timer } from '../../../shared/clock/clock.ts'

export interface UpdatesOptions {
  clock: Clock
  /** Changes that are announced within these milliseconds become one update; default: 0. */
  delayMs?: number
  /** Makes what is served as it is wanted now. Rejects with the reason why it cannot be had. */
  apply(): Promise<void>
  /** Tells of a failure; the same message in succession is told once. */
  onFailure(error: Error): void
}

const RETRY_MS = 5_000

/**
 * Keeps what is served as it is wanted: one update at a time, and after it one for all changes that came meanwhile. An
 * update that failed is tried again after 5 s, or with the next change.
 */
export class Updates {
  readonly #options: UpdatesOptions
  #timer: Timer | undefined
  #retry: Timer | undefined
  #isBusy = false
  #isDirty = false
  #isClosed = false
  #told = ''

  constructor(options: UpdatesOptions) {
    this.#options = options
  }

  /** Announces a change. */
  request(): void {
    this.#isDirty = true
    if (this.#timer || this.#isBusy || this.#isClosed) return
    this.#retry?.cancel()
    this.#timer = this.#after(this.#options.delayMs ?? 0, () => {
      this.#timer = undefined
      void this.#run()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#retry?.cancel()
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    this.#isDirty = false
    let failed = false
    try {
      await this.#options.apply()
      this.#told = ''
    } catch (error) {
      failed = true
      this.#tell(error as Error)
    }
    this.#isBusy = false
    if (this.#isDirty) this.request()
    else if (failed && !this.#isClosed) this.#retry = this.#after(RETRY_MS, () => this.request())
  }

  #tell(error: Error): void {
    if (this.#isClosed || error.message === this.#told) return
    this.#told = error.message
    this.#options.onFailure(error)
  }

  #after(delayMs: number, act: () => void): Timer {
    return this.#options.clock.machine.setTimer(delayMs, act, { background: true })
  }
}
