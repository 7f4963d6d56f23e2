import type { Clock } from '../../shared/clock/clock.ts'

/**
 * What a program is told of a clock that runs faster than its own: how much faster, and how long it has, in seconds of
 * its own, from being asked to end until it is killed. Nothing where no time is scaled.
 */
export function timeVariables({ scale }: Clock, graceSeconds: number): Record<string, string> {
  if (scale === 1) return {}
  const ownSeconds = Math.round((graceSeconds / scale) * 1000) / 1000
  return { KUBESTAGE_TIME_SCALE: String(scale), KUBESTAGE_GRACE_PERIOD_SECONDS: String(ownSeconds) }
}
