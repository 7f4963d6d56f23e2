/** Describes how long a state lasted. Times are milliseconds since the epoch; without an end the state still lasts. */
export interface Interval<Value = string> {
  value: Value
  startMs: number
  endMs?: number
}

/** Bounds the states of one object; the oldest are dropped. */
const maxIntervals = 200

/**
 * Begins the state `value` at `atMs` and ends the last one; undefined only ends it. An equal value continues the last
 * state.
 */
export function become<Value>(intervals: Interval<Value>[], value: Value | undefined, atMs: number): void {
  const last = intervals.at(-1)
  if (last && last.endMs === undefined) {
    if (last.value === value) return
    // A state without duration is dropped.
    if (last.startMs >= atMs) intervals.pop()
    else last.endMs = atMs
  }
  if (value === undefined) return
  const before = intervals.at(-1)
  if (before?.value === value && before.endMs === atMs) delete before.endMs
  else intervals.push({ value, startMs: atMs })
  if (intervals.length > maxIntervals) intervals.shift()
}
