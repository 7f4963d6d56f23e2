import { type ZoneTime, zoneTime } from '../../shared/clock/zone-time.ts'
import { durationMs } from '../../shared/config/option-types.ts'

/** Computes the times of a cron schedule. Times are milliseconds since the epoch. */
export interface Schedule {
  /** Returns the first time after `ms`; undefined if none comes within five years, such as 31 February. */
  next(ms: number): number | undefined
  zone: string
}

const names = {
  month: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  weekday: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
}
const ranges: { field: keyof ZoneTime; min: number; max: number; names?: readonly string[] }[] = [
  { field: 'minute', min: 0, max: 59 },
  { field: 'hour', min: 0, max: 23 },
  { field: 'day', min: 1, max: 31 },
  { field: 'month', min: 1, max: 12, names: names.month },
  { field: 'weekday', min: 0, max: 6, names: names.weekday },
]
const descriptors: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const HORIZON_MS = 5 * 366 * DAY_MS

/**
 * Reads a schedule that the API has taken; behaves as github.com/robfig/cron does. `timeZone`: unless the text names
 * one.
 */
export function parseSchedule(text: string, timeZone = 'UTC'): Schedule {
  const zoned = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text)
  const zone = zoned?.[1] ?? timeZone
  const plain = (zoned?.[2] ?? text).trim()
  const every = /^@every\s+(.*)$/.exec(plain)?.[1]
  if (every !== undefined) return { zone, next: everySo(durationMs(every)) }
  const parts = (descriptors[plain] ?? plain).split(/\s+/)
  return { zone, next: onTheClock(parts.map(setOf), zone) }
}

function everySo(ms: number): Schedule['next'] {
  const wholeMs = Math.max(SECOND_MS, Math.floor(ms / SECOND_MS) * SECOND_MS)
  return (afterMs) => Math.floor(afterMs / SECOND_MS) * SECOND_MS + wholeMs
}

interface Wanted {
  values: Set<number>
  /** True for `*`, which decides nothing. */
  isOpen: boolean
}

function setOf(text: string, field: number): Wanted {
  const { min, max, names = [] } = ranges[field] ?? { min: 0, max: 0 }
  const number = (word: string): number =>
    names.includes(word.toLowerCase()) ? names.indexOf(word.toLowerCase()) : Number(word)
  const wanted: Wanted = { values: new Set(), isOpen: false }
  for (const expression of text.split(',').filter(Boolean)) {
    const [range = '', stepText] = expression.split('/')
    const [low = '', high] = range.split('-')
    const isAll = low === '*' || low === '?'
    const step = Number(stepText ?? 1)
    const start = isAll ? min : number(low)
    const end = isAll || (high === undefined && stepText !== undefined) ? max : number(high ?? low)
    if (isAll && step === 1) wanted.isOpen = true
    for (let value = start; value <= end; value += step) wanted.values.add(value)
  }
  return wanted
}

function onTheClock([minute, hour, day, month, weekday]: Wanted[], zone: string): Schedule['next'] {
  const has = (wanted: Wanted | undefined, value: number): boolean => wanted?.values.has(value) ?? false
  const isDay = (time: ZoneTime): boolean => {
    const [byDate, byName] = [has(day, time.day), has(weekday, time.weekday)]
    return day?.isOpen || weekday?.isOpen ? byDate && byName : byDate || byName
  }
  return (afterMs) => {
    let ms = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS
    while (ms <= afterMs + HORIZON_MS) {
      const time = zoneTime(ms, zone)
      if (!has(month, time.month) || !isDay(time)) ms = nextDay(ms, time, zone)
      else if (!has(hour, time.hour)) ms += HOUR_MS - time.minute * MINUTE_MS
      else if (!has(minute, time.minute)) ms += MINUTE_MS
      else return ms
    }
    return undefined
  }
}

/** The beginning of the next day, which may be 23 or 25 hours after that of this one. */
function nextDay(ms: number, { hour, minute }: ZoneTime, zone: string): number {
  const dayLater = ms - hour * HOUR_MS - minute * MINUTE_MS + DAY_MS
  const there = zoneTime(dayLater, zone)
  if (there.hour === 0 && there.minute === 0) return dayLater
  const sinceMidnightMs = there.hour * HOUR_MS + there.minute * MINUTE_MS
  return there.hour >= 12 ? dayLater + DAY_MS - sinceMidnightMs : dayLater - sinceMidnightMs
}
