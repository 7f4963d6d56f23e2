/**
 * Kubernetes' two ways to write an instant, from and to milliseconds since the Unix epoch. Formatting only: it never
 * asks what time it is.
 */

/** metav1.Time: RFC 3339 in whole seconds, cut off, not rounded. */
export function toTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  // All that happens within a second asks for the same text.
  if (second !== lastSecond) {
    lastText = `${new Date(ms).toISOString().slice(0, 19)}Z`
    lastSecond = second
  }
  return lastText
}
let lastSecond = Number.NaN
let lastText = ''

/** Formats a time as metav1.MicroTime: RFC 3339 with six digits. */
export function toMicroTime(ms: number): string {
  if (ms !== lastMs) {
    const micros = Math.floor((ms - Math.floor(ms / 1000) * 1000) * 1000)
    lastMicroTime = `${toTime(ms).slice(0, -1)}.${String(micros).padStart(6, '0')}Z`
    lastMs = ms
  }
  return lastMicroTime
}
let lastMs = Number.NaN
let lastMicroTime = ''

/** Formats a time as HTTP's Date field. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== lastDateSecond) {
    lastDate = new Date(ms).toUTCString()
    lastDateSecond = second
  }
  return lastDate
}
let lastDateSecond = Number.NaN
let lastDate = ''

/** Milliseconds, or NaN for what is not a time. */
export const parseTime = (text: string): number => Date.parse(text)
