/**
 * `time.Duration(seconds) * time.Second`, in milliseconds: Go counts nanoseconds in 64 bits, and what is more than 292
 * years wraps around. So has every deletionTimestamp a year of four digits, however absurd the grace.
 */
export function goDurationMs(seconds: number | bigint): number {
  if (seconds > -LONGEST_SECONDS && seconds < LONGEST_SECONDS) return Number(seconds) * 1000
  return Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n)
}
/** 2⁶³ nanoseconds. */
const LONGEST_SECONDS = 9_223_372_036
