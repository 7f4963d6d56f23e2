/** Timestamps and durations, to the nanosecond. */

import { CelError } from '../errors.ts'
import { charge } from '../meter.ts'
import type { Signature } from '../overloads.ts'
import { Duration, floorDiv, Timestamp } from '../values.ts'
import { int, notConverted } from './numbers.ts'

const SECOND = 1_000_000_000n
const UNITS: Record<string, bigint> = {
  h: 3600n * SECOND,
  m: 60n * SECOND,
  s: SECOND,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ns: 1n,
}
const MIN_TIME = -62135596800n * SECOND
const MAX_TIME = 253402300800n * SECOND - 1n
const MAX_INT = 2n ** 63n - 1n

/** Further digits say nothing that an int64 of nanoseconds could hold. */
const MAX_DIGITS = 20
/** Go's time.ParseDuration; undefined: it is none. */
export function parseGoDuration(text: string): Duration | undefined {
  const match = /^([+-]?)(0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|μs|ns))+)$/.exec(text)
  if (match === null) return undefined
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit = ''] of (match[2] ?? '').matchAll(
    /(\d*)(?:\.(\d*))?(h|ms|m|s|us|µs|μs|ns)/g,
  )) {
    const size = UNITS[unit]!
    const digits = whole.replace(/^0+/, '')
    if (digits.length > MAX_DIGITS) return undefined
    const part = fraction.slice(0, MAX_DIGITS)
    nanos += BigInt(digits || '0') * size
    if (part !== '') nanos += (BigInt(part) * size) / 10n ** BigInt(part.length)
    if (nanos > MAX_INT) return undefined
  }
  return nanos > MAX_INT ? undefined : new Duration(match[1] === '-' ? -nanos : nanos)
}
function duration(text: string): Duration {
  const value = parseGoDuration(text)
  if (value === undefined) throw notConverted('google.protobuf.Duration')
  return value
}
const RFC3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d:\d\d)$/

/** RFC 3339; undefined: it is none. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const [, day, time, fraction = '', zone = ''] = RFC3339.exec(text) ?? []
  if (day === undefined) return undefined
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return undefined
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`)
  if (Number.isNaN(ms)) return undefined
  return new Timestamp(BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0')))
}
function timestamp(text: string): Timestamp {
  const value = parseTimestamp(text)
  if (value === undefined) throw notConverted('google.protobuf.Timestamp')
  return inRange(value.nanos)
}
function inRange(nanos: bigint): Timestamp {
  if (nanos < MIN_TIME || nanos > MAX_TIME) throw new CelError('timestamp overflow')
  return new Timestamp(nanos)
}
function span(nanos: bigint): Duration {
  if (nanos > MAX_INT || nanos < -MAX_INT - 1n) throw new CelError('duration overflow')
  return new Duration(nanos)
}

const fractionOf = (nanos: bigint, digits: number): string => {
  const text = nanos.toString().padStart(digits, '0').replace(/0+$/, '')
  return text === '' ? '' : `.${text}`
}
export function printTimestamp({ nanos, date }: Timestamp): string {
  const fraction = fractionOf(nanos - floorDiv(nanos, SECOND) * SECOND, 9)
  return `${date.toISOString().replace(/\.\d+Z$/, '')}${fraction}Z`
}
/** Seconds, as protobuf's JSON has them. */
export function printDuration({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos
  return `${nanos < 0n ? '-' : ''}${size / SECOND}${fractionOf(size % SECOND, 9)}s`
}

function partsIn(value: Timestamp, zone: string): Date {
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return new Date(value.date.getTime() + (offset[1] === '-' ? -minutes : minutes) * 60_000)
  }
  charge(formats.has(zone) ? ZONE_COST : NEW_ZONE_COST)
  const format = formatOf(zone)
  if (format === undefined) throw new CelError(`unknown time zone ${zone}`)
  const text = format.formatToParts(value.date)
  const part = (type: string): number => Number(text.find((entry) => entry.type === type)?.value)
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')))
}

/** A time in a zone that has a name costs this much more. */
const ZONE_COST = 20
/** The first look for a zone costs this much more, also if there is none. */
const NEW_ZONE_COST = 500
const MAX_ZONES = 100
const formats = new Map<string, Intl.DateTimeFormat | undefined>()
/** undefined: there is no such zone. */
function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  if (zone.length > MAX_ZONE_NAME) return undefined
  if (formats.has(zone)) return formats.get(zone)
  if (formats.size >= MAX_ZONES) formats.clear()
  const format = newFormat(zone)
  formats.set(zone, format)
  return format
}
const MAX_ZONE_NAME = 100
function newFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  const two = '2-digit'
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
    })
  } catch {
    return undefined
  }
}
const dayOfYear = (date: Date): number =>
  Math.floor(
    (Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()) - Date.UTC(date.getUTCFullYear(), 0, 1)) /
      86_400_000,
  )

const PARTS: Record<string, (date: Date) => number> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: dayOfYear,
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
}
const milliseconds = (value: Timestamp): bigint => (value.nanos - floorDiv(value.nanos, SECOND) * SECOND) / 1_000_000n

export const TIME: readonly Signature[] = [
  ['_+_(duration, duration): duration', (left: Duration, right: Duration) => span(left.nanos + right.nanos)],
  ['_+_(duration, timestamp): timestamp', (left: Duration, right: Timestamp) => inRange(left.nanos + right.nanos)],
  ['_+_(timestamp, duration): timestamp', (left: Timestamp, right: Duration) => inRange(left.nanos + right.nanos)],
  ['_-_(duration, duration): duration', (left: Duration, right: Duration) => span(left.nanos - right.nanos)],
  ['_-_(timestamp, duration): timestamp', (left: Timestamp, right: Duration) => inRange(left.nanos - right.nanos)],
  ['_-_(timestamp, timestamp): duration', (left: Timestamp, right: Timestamp) => span(left.nanos - right.nanos)],
  ['duration(duration): duration', (value: Duration) => value],
  ['duration(int): duration', (value: bigint) => span(value * SECOND)],
  ['duration(string): duration', duration],
  ['timestamp(timestamp): timestamp', (value: Timestamp) => value],
  ['timestamp(int): timestamp', (value: bigint) => inRange(value * SECOND)],
  ['timestamp(string): timestamp', timestamp],
  ['int(duration): int', ({ nanos }: Duration) => nanos],
  ['int(timestamp): int', ({ nanos }: Timestamp) => int(floorDiv(nanos, SECOND))],
  ['string(duration): string', printDuration],
  ['string(timestamp): string', printTimestamp],
  ...Object.entries(PARTS).flatMap(([name, part]): Signature[] => [
    [`timestamp.${name}(): int`, (value: Timestamp) => BigInt(part(value.date))],
    [`timestamp.${name}(string): int`, (value: Timestamp, zone: string) => BigInt(part(partsIn(value, zone)))],
  ]),
  ['timestamp.getMilliseconds(): int', milliseconds],
  ['timestamp.getMilliseconds(string): int', (value: Timestamp) => milliseconds(value)],
  ['duration.getHours(): int', ({ nanos }: Duration) => nanos / UNITS.h!],
  ['duration.getMinutes(): int', ({ nanos }: Duration) => nanos / UNITS.m!],
  ['duration.getSeconds(): int', ({ nanos }: Duration) => nanos / SECOND],
  ['duration.getMilliseconds(): int', ({ nanos }: Duration) => nanos / 1_000_000n],
]
