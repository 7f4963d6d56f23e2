/** A state that lasts. Times are milliseconds since the epoch; without an end it lasts still. */
export interface Interval<Value = string> {
  value: Value
  startMs: number
  endMs?: number
}

/** The most states that are kept of one thing; the oldest are forgotten. */
const maxIntervals = 200

/** From `atMs` on it is `value`; undefined: nothing. The same value goes on. */
export function become<Value>(intervals: Interval<Value>[], value: Value | undefined, atMs: number): void {
  const last = intervals.at(-1)
  if (last && last.endMs === undefined) {
    if (last.value === value) return
    // A state that lasted no time was none.
    if (last.startMs >= atMs) intervals.pop()
    else last.endMs = atMs
  }
  if (value === undefined) return
  const before = intervals.at(-1)
  if (before?.value === value && before.endMs === atMs) delete before.endMs
  else intervals.push({ value, startMs: atMs })
  if (intervals.length > maxIntervals) intervals.shift()
}
