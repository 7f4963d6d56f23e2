import type { Clock } from '../../shared/clock/clock.ts'

/**
 * Returns the variables that tell a program about a clock that runs faster than its own: the factor, and the seconds of
 * its own clock between TERM and KILL. Returns no variables if time is not scaled.
 */
export function timeVariables({ scale }: Clock, graceSeconds: number): Record<string, string> {
  if (scale === 1) return {}
  const ownSeconds = Math.round((graceSeconds / scale) * 1000) / 1000
  return { KUBESTAGE_TIME_SCALE: String(scale), KUBESTAGE_GRACE_PERIOD_SECONDS: String(ownSeconds) }
}
