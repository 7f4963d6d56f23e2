import { httpDate } from './timestamp.ts'

export interface ZoneTime {
  year: number
  /** Counts from 1 to 12. */
  month: number
  day: number
  /** 0 is Sunday. */
  weekday: number
  hour: number
  minute: number
  second: number
  /** Milliseconds that the zone is ahead of UTC. */
  offsetMs: number
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const [numeric, digits] = ['numeric', '2-digit'] as const
  const day = { year: numeric, month: numeric, day: numeric }
  const time = { hour: digits, minute: digits, second: digits, hourCycle: 'h23' } as const
  const made = new Intl.DateTimeFormat('en', { timeZone: zone, calendar: 'gregory', ...day, ...time })
  formats.set(zone, made)
  return made
}

/** Returns the calendar date and time of the zone at a moment. Throws a RangeError if the zone does not exist. */
export function zoneTime(ms: number, zone: string): ZoneTime {
  const found = new Map(
    formatOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const of = (part: Intl.DateTimeFormatPartTypes): number => found.get(part) ?? 0
  const [year, month, day] = [of('year'), of('month'), of('day')]
  const [hour, minute, second] = [of('hour'), of('minute'), of('second')]
  const asUtcMs = Date.UTC(year, month - 1, day, hour, minute, second)
  const weekday = new Date(asUtcMs).getUTCDay()
  return { year, month, day, weekday, hour, minute, second, offsetMs: asUtcMs - Math.floor(ms / 1000) * 1000 }
}

const two = (number: number): string => String(number).padStart(2, '0')

/** Formats a time as RFC 3339 in whole seconds, with the zone's offset. */
export function toZonedTime(ms: number, zone: string): string {
  const { year, month, day, hour, minute, second, offsetMs } = zoneTime(ms, zone)
  const minutes = Math.abs(offsetMs) / 60_000
  const offset =
    offsetMs === 0 ? 'Z' : `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${offset}`
}

/** `Fri, 02 Jan 2026 03:04:05 +0000`: RFC 1123, in UTC. */
export const toMailTime = (ms: number): string => httpDate(ms).replace('GMT', '+0000')
