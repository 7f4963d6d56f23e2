import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { StorageUnavailableError } from './storage.ts'

interface Waiter {
  revision: number
  resolve(): void
  reject(error: Error): void
}

/** The store is asked for the event of a write that takes longer. */
const nudgeMs = 100

/** Calls that wait for the feed to reach a revision. */
export class RevisionWaiters {
  readonly #clock: Clock
  readonly #patienceMs: number
  readonly #nudge: () => void
  #waiters: Waiter[] = []
  #timer: Timer | undefined

  /** `nudge`: asks the store to say how far it is; called again and again while someone waits. */
  constructor(clock: Clock, { patienceMs, nudge = () => {} }: { patienceMs: number; nudge?(): void }) {
    this.#clock = clock
    this.#patienceMs = patienceMs
    this.#nudge = nudge
  }

  /** Rejects with a StorageUnavailableError after the time is over; `what` says what did not happen. */
  async wait(revision: number, what: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { revision, resolve, reject }
    this.#waiters.push(waiter)
    this.#timer ??= this.#askSoon()
    const timer = this.#clock.setTimer(
      this.#patienceMs,
      () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter)
        const text = `${what}: revision ${revision} did not come within ${this.#patienceMs / 1000} s; try again`
        reject(new StorageUnavailableError(text))
      },
      { background: true },
    )
    try {
      await promise
    } finally {
      timer.cancel()
    }
  }

  #askSoon(): Timer {
    const ask = (): void => {
      this.#timer = undefined
      if (this.#waiters.length === 0) return
      this.#nudge()
      this.#timer = this.#askSoon()
    }
    return this.#clock.setTimer(nudgeMs, ask, { background: true })
  }

  reached(revision: number): void {
    const waiting = this.#waiters
    if (waiting.length === 0) return
    this.#waiters = waiting.filter((waiter) => waiter.revision > revision)
    for (const waiter of waiting) if (waiter.revision <= revision) waiter.resolve()
  }

  close(error: Error): void {
    this.#timer?.cancel()
    for (const { reject } of this.#waiters) reject(error)
    this.#waiters = []
  }
}
