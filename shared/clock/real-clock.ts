import type { Clock, Timer } from './clock.ts'
import { sleepOn } from './sleep.ts'

/** setTimeout fires at once beyond this, so longer waits are walked in steps. */
const maxTimeoutMs = 2 ** 31 - 1

/** Gives the machine's own time. */
export const realClock: Clock = {
  scale: 1,
  get machine() {
    return realClock
  },
  now: () => Date.now(),
  at: (machineMs) => machineMs,
  monotonic: () => performance.now(),
  setTimer: (delayMs, callback, options) => startTimer(performance.now() + delayMs, callback, options?.background),
  sleep: (delayMs, options) => sleepOn(realClock, delayMs, options),
}

function startTimer(deadline: number, callback: () => void, background = false): Timer {
  let handle: NodeJS.Timeout
  const wait = (): void => {
    // Node truncates fractions and may fire up to 1 ms early; a timer must never be early.
    const remainingMs = Math.max(0, Math.ceil(deadline - performance.now()))
    handle = setTimeout(remainingMs > maxTimeoutMs ? wait : fire, Math.min(remainingMs, maxTimeoutMs))
    if (background) handle.unref()
  }
  const fire = (): void => {
    if (performance.now() < deadline) wait()
    else callback()
  }
  wait()
  return { cancel: () => clearTimeout(handle) }
}
