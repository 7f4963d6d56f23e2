import type { Clock } from './clock.ts'
import { sleepOn } from './sleep.ts'

export interface TimeScale {
  /** Says how many of the clock's seconds pass in one second of the machine's. */
  scale: number
  /**
   * When both show the same time, in milliseconds since the Unix epoch. All clocks that share it always show the same
   * time.
   */
  originMs: number
}

/** A clock that runs faster than the machine's: thirty seconds of grace are half a second at a scale of 60. */
export function createScaledClock(machine: Clock, { scale, originMs }: TimeScale): Clock {
  const clock: Clock = {
    scale,
    machine,
    now: () => clock.at(machine.now()),
    at: (machineMs) => originMs + (machineMs - originMs) * scale,
    monotonic: () => machine.monotonic() * scale,
    setTimer: (delayMs, callback, options) => machine.setTimer(delayMs / scale, callback, options),
    sleep: (delayMs, options) => sleepOn(clock, delayMs, options),
  }
  return clock
}

/** The machine's clock itself where nothing is scaled. */
export const scaledClock = (machine: Clock, timeScale: TimeScale): Clock =>
  timeScale.scale === 1 ? machine : createScaledClock(machine, timeScale)
