import { durationMs } from '../shared/config/option-types.ts'

/** Says how long: `500ms`, `30s`, `10m`, `1h30m`. A number counts milliseconds. */
export type Duration = string | number

/** Throws an Error that says what a duration looks like. */
export function toMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (duration >= 0) return duration
    throw new Error(`a duration must be 0 or more, not ${duration}`)
  }
  try {
    return durationMs(duration)
  } catch (error) {
    throw new Error(`a duration ${(error as Error).message}`)
  }
}
