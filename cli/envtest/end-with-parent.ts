import type { Clock } from '../../shared/clock/clock.ts'

const betweenMs = 1000
/** Read at the start: when all else is ready, the parent may be gone already. */
const parent = process.ppid

/** Calls `end` when the process that started this one is gone: a suite that panics or is killed stops nothing. */
export function endWithParent(clock: Clock, end: () => void): void {
  // Started by a process that has ended already: by an init system, or with nohup.
  if (parent === 1) return
  const look = (): void => {
    if (process.ppid === parent) clock.setTimer(betweenMs, look, { background: true })
    else end()
  }
  look()
}
