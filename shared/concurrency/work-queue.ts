import type { Clock, Timer } from '../clock/clock.ts'
import { type Backoff, createBackoff } from './backoff.ts'

/**
 * Keys that need work. A key waits at most once, is never worked on twice at the same time,
 * and one added while it is being worked on runs again afterwards. A key whose work throws comes back after a growing delay.
 */
export interface WorkQueue<Key> {
  add(key: Key): void
  /** The earliest of several wins. */
  addAfter(key: Key, delayMs: number): void
  /** Resolves when the work under way has ended; nothing begins after the call. */
  close(): Promise<void>
}
export interface WorkQueueOptions<Key> {
  clock: Clock
  work(key: Key): Promise<void>
  onError(error: unknown, key: Key): void
  /** Default 1. */
  concurrency?: number
  /** Default 10 ms, doubling to 30 s. */
  retry?: { initialMs: number; maxMs: number }
}

const RETRY = { initialMs: 10, maxMs: 30_000 }

export function createWorkQueue<Key>(options: WorkQueueOptions<Key>): WorkQueue<Key> {
  const { clock, work, onError, concurrency = 1, retry = RETRY } = options
  const waiting = new Set<Key>()
  const running = new Set<Key>()
  const delayed = new Map<Key, { timer: Timer; dueMs: number }>()
  const backoffs = new Map<Key, Backoff>()
  let closed = false
  let idle: (() => void) | undefined

  function add(key: Key): void {
    if (closed) return
    waiting.add(key)
    // Not at once: the caller is often about to add the same key again.
    queueMicrotask(pump)
  }

  function addAfter(key: Key, delayMs: number): void {
    if (closed) return
    const dueMs = clock.monotonic() + delayMs
    const earlier = delayed.get(key)
    if (earlier && earlier.dueMs <= dueMs) return
    earlier?.timer.cancel()
    const timer = clock.setTimer(
      delayMs,
      () => {
        delayed.delete(key)
        add(key)
      },
      { background: true },
    )
    delayed.set(key, { timer, dueMs })
  }

  function pump(): void {
    for (const key of waiting) {
      if (closed || running.size >= concurrency) return
      if (running.has(key)) continue
      waiting.delete(key)
      void run(key)
    }
  }

  async function run(key: Key): Promise<void> {
    running.add(key)
    try {
      await work(key)
      backoffs.delete(key)
    } catch (error) {
      if (!closed) {
        onError(error, key)
        addAfter(key, backoffOf(key).next())
      }
    } finally {
      running.delete(key)
      if (running.size === 0) idle?.()
      pump()
    }
  }

  function backoffOf(key: Key): Backoff {
    const backoff = backoffs.get(key) ?? createBackoff(retry)
    backoffs.set(key, backoff)
    return backoff
  }

  return {
    add,
    addAfter,
    async close() {
      closed = true
      waiting.clear()
      for (const { timer } of delayed.values()) timer.cancel()
      delayed.clear()
      if (running.size > 0) await new Promise<void>((resolve) => (idle = resolve))
    },
  }
}
