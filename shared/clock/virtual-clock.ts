import type { Clock, Timer } from './clock.ts'
import type { MovableClock } from './movable-clock.ts'
import { settle } from './settle.ts'
import { sleepOn } from './sleep.ts'

/** A clock that stands still until it is moved: a scenario of minutes plays in milliseconds, and always the same. */
export interface VirtualClock extends MovableClock {
  /**
   * Moves time forward, firing due timers in order of their deadlines. Between two timers everything that is ready to
   * run (promises, immediates, I/O that has arrived) runs first, so that what a timer started may set the next one.
   */
  advance(durationMs: number): Promise<void>
  /**
   * Moves from timer to timer until `condition` holds; rejects when no timer is left, or at `limitMs` (default: one
   * day).
   */
  advanceUntil(condition: () => boolean, options?: { limitMs?: number }): Promise<void>
}

interface Pending {
  deadline: number
  callback: () => void
}

/** `startMs`: what `now` says at first. `machine`: the clock for limits on real work; default: its own. */
export function createVirtualClock(startMs: number = Date.UTC(2026, 0, 1), machine?: Clock): VirtualClock {
  const pending = new Set<Pending>()
  let elapsedMs = 0

  const next = (): Pending | undefined => {
    let first: Pending | undefined
    for (const entry of pending) if (!first || entry.deadline < first.deadline) first = entry
    return first
  }
  const fireNext = (limit: number): boolean => {
    const due = next()
    if (!due || due.deadline > limit) return false
    pending.delete(due)
    elapsedMs = Math.max(elapsedMs, due.deadline)
    due.callback()
    return true
  }

  const clock: VirtualClock = {
    scale: 1,
    get machine() {
      return machine ?? clock
    },
    get movedMs() {
      return elapsedMs
    },
    now: () => startMs + elapsedMs,
    at: (machineMs) => machineMs,
    monotonic: () => elapsedMs,
    setTimer(delayMs, callback): Timer {
      const entry = { deadline: elapsedMs + Math.max(0, delayMs), callback }
      pending.add(entry)
      return { cancel: () => void pending.delete(entry) }
    },
    sleep: (delayMs, options) => sleepOn(clock, delayMs, options),
    async advance(durationMs) {
      const end = elapsedMs + durationMs
      do await settle()
      while (fireNext(end))
      elapsedMs = end
    },
    async advanceUntil(condition, { limitMs = 86_400_000 } = {}) {
      const end = elapsedMs + limitMs
      await settle()
      while (!condition()) {
        if (!fireNext(end)) throw new Error(`the condition did not come true in ${elapsedMs} ms of virtual time`)
        await settle()
      }
    },
    nextDeadline: () => next()?.deadline,
  }
  return clock
}
