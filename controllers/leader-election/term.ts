import type { Leader } from '../../shared/api/leader.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'

/** A leader's loops are told this when they write after their term. */
export class TermOverError extends Error {
  override name = 'TermOverError'
}

/** The time in which one process leads. It is over when its Lease was not renewed in time, and for good. */
export class Term {
  readonly leader: Leader
  readonly #clock: Clock
  readonly #over = new AbortController()
  #endMs = 0
  #timer: Timer | undefined

  constructor(leader: Leader, clock: Clock) {
    this.leader = leader
    this.#clock = clock
  }

  /** Aborts when the term is over; its reason is a {@link TermOverError}. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /**
   * Returns false from the moment on from which another may lead, by the monotonic clock. A process that was stopped
   * learns it here before any of its timers fires.
   */
  isHeld(): boolean {
    if (!this.signal.aborted && this.#clock.monotonic() >= this.#endMs) this.end('the Lease was not renewed in time')
    return !this.signal.aborted
  }

  /** Milliseconds since it ended; less than 0 while it lasts. */
  overForMs(): number {
    return this.#clock.monotonic() - this.#endMs
  }

  /** The Lease was renewed: the term lasts until `endMs` of the monotonic clock. What is over stays so. */
  extend(endMs: number): void {
    if (this.signal.aborted) return
    this.#endMs = endMs
    this.#timer?.cancel()
    this.#timer = this.#clock.setTimer(endMs - this.#clock.monotonic(), () => this.isHeld(), { background: true })
  }

  end(why: string): void {
    this.#timer?.cancel()
    if (this.signal.aborted) return
    this.#endMs = Math.min(this.#endMs, this.#clock.monotonic())
    this.#over.abort(new TermOverError(why))
  }
}
