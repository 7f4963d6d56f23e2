/**
 * Kubernetes' two ways to write an instant, from and to milliseconds since the Unix epoch. Formatting only: it never
 * asks what time it is.
 */

/** metav1.Time: RFC 3339 in whole seconds, cut off, not rounded. */
export function toTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  // All that happens within a second asks for the same text.
  if (second !== lastSecond) {
    lastText = `${(isUsual(ms) ? usualTime(ms) : new Date(ms).toISOString()).slice(0, 19)}Z`
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
    lastDate = isUsual(ms) ? usualDate(ms) : new Date(ms).toUTCString()
    lastDateSecond = second
  }
  return lastDate
}
let lastDateSecond = Number.NaN
let lastDate = ''

const weekdays = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const [secondMs, minuteMs, hourMs, dayMs] = [1000, 60_000, 3_600_000, 86_400_000]
const yearMs = 365.2425 * dayMs

/**
 * The first Date of a process loads the machine's time zone, 1 MB, also if it is a certificate's `validToDate`. The
 * years of usual clocks do without.
 */
const isUsual = (ms: number): boolean => ms >= 0 && ms < Date.UTC(10_000)

function usualTime(ms: number): string {
  const { year, month, day, time } = calendar(ms)
  return `${year}-${two(month + 1)}-${two(day)}T${time}`
}

function usualDate(ms: number): string {
  const { year, month, day, time } = calendar(ms)
  return `${weekdays[Math.floor(ms / dayMs) % 7]}, ${two(day)} ${months[month]} ${year} ${time} GMT`
}

function calendar(ms: number) {
  const guess = 1970 + Math.floor(ms / yearMs)
  const year = [guess + 1, guess].find((one) => Date.UTC(one) <= ms) ?? guess - 1
  const month = months.findLastIndex((_, index) => Date.UTC(year, index) <= ms)
  const day = 1 + Math.floor((ms - Date.UTC(year, month)) / dayMs)
  const time = [Math.floor(ms / hourMs) % 24, Math.floor(ms / minuteMs) % 60, Math.floor(ms / secondMs) % 60]
  return { year, month, day, time: time.map(two).join(':') }
}

const two = (number: number): string => String(number).padStart(2, '0')

/** Milliseconds, or NaN for what is not a time. */
export const parseTime = (text: string): number => Date.parse(text)
