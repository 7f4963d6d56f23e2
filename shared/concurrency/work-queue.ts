import type { Clock, Timer } from '../clock/clock.ts'
import { type Backoff, createBackoff } from './backoff.ts'

export interface WorkQueueOptions<Key> {
  clock: Clock
  work(key: Key): Promise<void>
  /** `inARow` counts the failures of the key since its work last succeeded, this one included. */
  onError(error: unknown, key: Key, inARow: number): void
  /** Limits how many keys are worked on at once; 1 by default. */
  concurrency?: number
  /** Sets the delay after a failure; 10 ms by default, doubling to 30 s. */
  retry?: { initialMs: number; maxMs: number }
}

const RETRY = { initialMs: 10, maxMs: 30_000 }

/**
 * Keys that need work. A key waits at most once, is never worked on twice at the same time, and one added while it is
 * being worked on runs again afterwards. A key whose work throws comes back after a growing delay.
 */
export class WorkQueue<Key> {
  readonly #clock: Clock
  readonly #work: (key: Key) => Promise<void>
  readonly #onError: (error: unknown, key: Key, inARow: number) => void
  readonly #concurrency: number
  readonly #retry: { initialMs: number; maxMs: number }
  readonly #waiting = new Set<Key>()
  readonly #running = new Set<Key>()
  readonly #delayed = new Map<Key, { timer: Timer; dueMs: number }>()
  readonly #failures = new Map<Key, { backoff: Backoff; inARow: number }>()
  #closed = false
  #idle: (() => void) | undefined

  constructor(options: WorkQueueOptions<Key>) {
    const { clock, work, onError, concurrency = 1, retry = RETRY } = options
    this.#clock = clock
    this.#work = work
    this.#onError = onError
    this.#concurrency = concurrency
    this.#retry = retry
  }

  add(key: Key): void {
    if (this.#closed) return
    this.#waiting.add(key)
    // Not at once: the caller is often about to add the same key again.
    queueMicrotask(() => this.#pump())
  }

  /** Adds the key after a delay. Of several delays the earliest counts. */
  addAfter(key: Key, delayMs: number): void {
    if (this.#closed) return
    const dueMs = this.#clock.monotonic() + delayMs
    const earlier = this.#delayed.get(key)
    if (earlier && earlier.dueMs <= dueMs) return
    earlier?.timer.cancel()
    const timer = this.#clock.setTimer(
      delayMs,
      () => {
        this.#delayed.delete(key)
        this.add(key)
      },
      { background: true },
    )
    this.#delayed.set(key, { timer, dueMs })
  }

  /** Resolves when the work under way has ended; nothing begins after the call. */
  async close(): Promise<void> {
    this.#closed = true
    this.#waiting.clear()
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    if (this.#running.size > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #pump(): void {
    for (const key of this.#waiting) {
      if (this.#closed || this.#running.size >= this.#concurrency) return
      if (this.#running.has(key)) continue
      this.#waiting.delete(key)
      void this.#run(key)
    }
  }

  async #run(key: Key): Promise<void> {
    this.#running.add(key)
    try {
      await this.#work(key)
      this.#failures.delete(key)
    } catch (error) {
      if (!this.#closed) {
        const failure = this.#failures.get(key) ?? { backoff: createBackoff(this.#retry), inARow: 0 }
        this.#failures.set(key, failure)
        failure.inARow += 1
        this.#onError(error, key, failure.inARow)
        this.addAfter(key, failure.backoff.next())
      }
    } finally {
      this.#running.delete(key)
      if (this.#running.size === 0) this.#idle?.()
      this.#pump()
    }
  }
}
