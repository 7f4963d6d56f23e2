/** Times as Go reads them: RFC 3339, for MicroTime with six digits; written back in UTC. */
import { toMicroTime, toTime } from './timestamp.ts'

const whole = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/
const micro = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/
const TIME_LAYOUT = '2006-01-02T15:04:05Z07:00'
const MICRO_LAYOUT = '2006-01-02T15:04:05.000000Z07:00'

export function canonicalTime(text: string): string {
  if (whole.test(text)) return text
  const { ms } = parse(text, TIME_LAYOUT, false)
  return toTime(ms)
}

export function canonicalMicroTime(text: string): string {
  if (micro.test(text)) return text
  const { ms, micros } = parse(text, MICRO_LAYOUT, true)
  return `${toMicroTime(ms).slice(0, 20)}${micros}Z`
}

/** [what the text must go on with, how the layout writes it] */
type Piece = [pattern: RegExp, layout: string]
const pieces: Piece[] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d\d/, '01'],
  [/^-/, '-'],
  [/^\d\d/, '02'],
  [/^T/, 'T'],
  // Go accepts one digit for the hour, and a comma instead of the point before the fraction.
  [/^\d\d?/, '15'],
  [/^:/, ':'],
  [/^\d\d/, '04'],
  [/^:/, ':'],
  [/^\d\d/, '05'],
]
const fraction: Piece = [/^[.,]\d{6}/, '.000000']
const freeFraction: Piece = [/^(?:[.,]\d+)?/, '']
const zone: Piece = [/^(?:Z|[+-]\d\d:\d\d)/, 'Z07:00']

function parse(text: string, layout: string, micros: boolean): { ms: number; micros: string } {
  const found: string[] = []
  let rest = text
  for (const [pattern, element] of [...pieces, micros ? fraction : freeFraction, zone]) {
    const match = pattern.exec(rest)
    if (!match)
      throw new Error(`parsing time ${quote(text)} as "${layout}": cannot parse ${quote(rest)} as "${element}"`)
    found.push(match[0])
    rest = rest.slice(match[0].length)
  }
  if (rest !== '') throw new Error(`parsing time ${quote(text)}: extra text: ${quote(rest)}`)
  const [year, , month, , day, , hour, , minute, , second] = found
  const range = outOfRange([Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second)])
  if (range) throw new Error(`parsing time ${quote(text)}: ${range} out of range`)
  const digits = (found.at(-2) ?? '').slice(1)
  const withoutFraction = `${year}-${month}-${day}T${hour?.padStart(2, '0')}:${minute}:${second}${found.at(-1)}`
  return { ms: Date.parse(withoutFraction), micros: digits }
}

function outOfRange([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: number[]): string | undefined {
  if (month < 1 || month > 12) return 'month'
  if (hour > 23) return 'hour'
  if (minute > 59) return 'minute'
  if (second > 59) return 'second'
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 31
  return day < 1 || day > days ? 'day' : undefined
}

/** Returns the text as Go's package time quotes it: other bytes than those of ASCII are escaped. */
const quote = (text: string): string =>
  `"${Buffer.from(text)
    .toString('latin1')
    .replaceAll(/["\\]/g, '\\$&')
    .replaceAll(/[^ -\x7f]/g, hex)}"`
const hex = (byte: string): string => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`
