/** A duration as Go prints it: `350ms`, `1.234s`, `1m20s`, `1h0m0s`. Messages of the kubelet carry it. */
export function goDuration(ms: number): string {
  if (ms === 0) return '0s'
  if (ms < 1_000) return `${ms}ms`
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = `${(ms % 60_000) / 1_000}s`
  if (hours) return `${hours}h${minutes}m${seconds}`
  return minutes ? `${minutes}m${seconds}` : seconds
}
