import type { Clock, Timer } from './clock.ts'
import { settle } from './settle.ts'
import { sleepOn } from './sleep.ts'

/** A clock that goes on by itself, and can be moved forward. */
export interface MovableClock extends Clock {
  /** Milliseconds by which the clock has been moved so far. */
  readonly movedMs: number
  /**
   * Moves time forward, firing timers that come due on the way in order of their deadlines; what one starts may set the
   * next.
   */
  advance(durationMs: number): Promise<void>
  /** Returns the deadline of the next timer on `monotonic`'s scale. */
  nextDeadline(): number | undefined
}

/** Returns the clock as one that can be moved; undefined if it cannot. */
export const movable = (clock: Clock): MovableClock | undefined =>
  'advance' in clock ? (clock as MovableClock) : undefined

interface Pending {
  deadline: number
  background: boolean
  callback: () => void
  /** A timer of the underlying clock, which rings when the deadline arrives without a move. */
  alarm: Timer
}

/** `base`: how it goes by itself. `movedMs`: how far it has been moved already, where others moved before it came. */
export function createMovableClock(base: Clock, movedMs = 0): MovableClock {
  const pending = new Set<Pending>()
  /** Says how far the clock is moved, and since when by the machine's time. */
  const moves = [{ machineMs: Number.NEGATIVE_INFINITY, movedMs }]
  let moved = movedMs

  const fire = (entry: Pending): void => {
    if (pending.delete(entry)) entry.callback()
  }
  const wind = (entry: Pending): Timer => {
    const { background } = entry
    return base.setTimer(entry.deadline - clock.monotonic(), () => fire(entry), { background })
  }
  const next = (): Pending | undefined => {
    let first: Pending | undefined
    for (const entry of pending) if (!first || entry.deadline < first.deadline) first = entry
    return first
  }
  const moveTo = (target: number): void => {
    moved = target
    moves.push({ machineMs: base.machine.now(), movedMs: moved })
  }

  const clock: MovableClock = {
    scale: base.scale,
    machine: base.machine,
    get movedMs() {
      return moved
    },
    now: () => base.now() + moved,
    at: (machineMs) => base.at(machineMs) + moves.findLast((move) => move.machineMs <= machineMs)!.movedMs,
    monotonic: () => base.monotonic() + moved,
    setTimer(delayMs, callback, { background = false } = {}) {
      const deadline = clock.monotonic() + Math.max(0, delayMs)
      const entry: Pending = { deadline, background, callback, alarm: { cancel() {} } }
      entry.alarm = wind(entry)
      pending.add(entry)
      return {
        cancel() {
          if (pending.delete(entry)) entry.alarm.cancel()
        },
      }
    },
    sleep: (delayMs, options) => sleepOn(clock, delayMs, options),
    async advance(durationMs) {
      const target = moved + durationMs
      for (;;) {
        await settle()
        const due = next()
        const aheadMs = due ? Math.max(0, due.deadline - clock.monotonic()) : Number.POSITIVE_INFINITY
        if (!due || moved + aheadMs > target) break
        if (aheadMs > 0) moveTo(moved + aheadMs)
        due.alarm.cancel()
        fire(due)
      }
      moveTo(target)
      for (const entry of pending) {
        entry.alarm.cancel()
        entry.alarm = wind(entry)
      }
      await settle()
    },
    nextDeadline: () => next()?.deadline,
  }
  return clock
}
