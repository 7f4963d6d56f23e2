/** Strings and regular expressions. Positions count characters, as code points. */
import { findMatches, patternError, patternMatches } from '../../schema/re2.ts'
import { TRAVERSAL } from '../cost-units.ts'
import { CelError } from '../errors.ts'
import { charge } from '../meter.ts'
import type { Signature } from '../overloads.ts'
import { indexIn, lastIndexIn, occurrences } from '../text-search.ts'
import { format, quote } from './format.ts'

/** Returns the number of characters (code points) in a text. */
export function characters(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code <= 0xdbff) count--
  }
  return count
}
const isSimple = (text: string): boolean => !/[\ud800-\udbff]/.test(text)

const outOfRange = (index: bigint): CelError => new CelError(`index out of range: ${index}`)

/** The place of a character, which may be behind the last; undefined: there are not so many. */
function unitAt(text: string, count: bigint): number | undefined {
  if (count > text.length) return undefined
  if (isSimple(text)) return Number(count)
  let at = 0
  for (let passed = 0n; passed < count; passed++) {
    if (at >= text.length) return undefined
    at += characterAt(text, at).length
  }
  return at
}
const characterAt = (text: string, at: number): string => {
  const code = text.charCodeAt(at)
  return text.slice(at, at + (code >= 0xd800 && code <= 0xdbff ? 2 : 1))
}

function charAt(text: string, at: bigint): string {
  const unit = at < 0n ? undefined : unitAt(text, at)
  if (unit === undefined) throw outOfRange(at)
  return characterAt(text, unit)
}
function substring(text: string, start: bigint, end?: bigint): string {
  const first = start < 0n ? undefined : unitAt(text, start)
  if (first === undefined) throw outOfRange(start)
  if (end === undefined) return text.slice(first)
  const last = end < 0n ? undefined : unitAt(text, end)
  if (last === undefined) throw outOfRange(end)
  if (start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  return text.slice(first, last)
}
const position = (text: string, index: number): bigint => BigInt(index <= 0 ? index : characters(text.slice(0, index)))

function indexOf(text: string, part: string, from = 0n): bigint {
  if (part === '') return from
  if (from < 0n) throw outOfRange(from)
  const start = unitAt(text, from)
  return start === undefined ? -1n : position(text, indexIn(text, part, start))
}
function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  if (part === '') return from ?? BigInt(characters(text))
  if (from === undefined) return position(text, lastIndexIn(text, part))
  if (from < 0n) throw outOfRange(from)
  const start = unitAt(text, from)
  return start === undefined || start === text.length ? -1n : position(text, lastIndexIn(text, part, start))
}

/** Replaces at most `times`; a negative number means all. */
function replace(text: string, from: string, to: string, times = -1n): string {
  const most = times < 0n ? Number.POSITIVE_INFINITY : Number(times)
  const places = from === '' ? characterPlaces(text, most) : occurrences(text, from, most)
  const parts: string[] = []
  let end = 0
  for (const place of places) {
    parts.push(text.slice(end, place), to)
    end = place + from.length
  }
  parts.push(text.slice(end))
  return parts.join('')
}
/** Where each character begins, and where the last one ends. */
function characterPlaces(text: string, most: number): number[] {
  const places: number[] = []
  for (let at = 0; at <= text.length && places.length < most; at += characterAt(text, at).length || 1) places.push(at)
  return places
}
function split(text: string, separator: string, limit = -1n): string[] {
  if (limit === 0n) return []
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit) - 1
  const places = separator === '' ? characterPlaces(text, most + 1).slice(1) : occurrences(text, separator, most)
  if (separator === '' && places.at(-1) === text.length) places.pop()
  if (separator === '' && text === '') return []
  const parts: string[] = []
  let end = 0
  for (const place of places) {
    parts.push(text.slice(end, place))
    end = place + separator.length
  }
  parts.push(text.slice(end))
  return parts
}
const isSpace = (code: number): boolean =>
  code === 0x85 || (code < 0x80 ? code === 0x20 || (code >= 9 && code <= 13) : /\s/.test(String.fromCharCode(code)))
/** Uses no regular expression, which would look at each run of spaces from each of its places. */
function trim(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Throws what Go says of a pattern that does not compile. */
function matching<T>(pattern: string, found: () => T): T {
  const problem = patternError(pattern)
  if (problem !== undefined) throw new CelError(problem)
  return found()
}
const matches = (text: string, pattern: string): boolean => matching(pattern, () => patternMatches(pattern, text))
const findAll = (text: string, pattern: string, limit = -1n): string[] =>
  matching(pattern, () => findMatches(pattern, text, limit < 0n ? undefined : Number(limit), () => charge(FINDING)))
/** Each match that is made costs this much. */
const FINDING = 3
/** Adds quotes and escapes. */
function quoted(text: string): string {
  charge(text.length * TRAVERSAL)
  return quote(text)
}

export const TEXT: readonly Signature[] = [
  ['string.contains(string): bool', (text: string, part: string) => text.includes(part)],
  ['string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part)],
  ['string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part)],
  ['matches(string, string): bool', matches],
  ['string.matches(string): bool', matches],
  ['string.charAt(int): string', charAt],
  ['string.indexOf(string): int', indexOf],
  ['string.indexOf(string, int): int', indexOf],
  ['string.lastIndexOf(string): int', lastIndexOf],
  ['string.lastIndexOf(string, int): int', lastIndexOf],
  ['string.lowerAscii(): string', (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())],
  ['string.upperAscii(): string', (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())],
  ['string.replace(string, string): string', replace],
  ['string.replace(string, string, int): string', replace],
  ['string.split(string): list<string>', split],
  ['string.split(string, int): list<string>', split],
  ['string.substring(int): string', substring],
  ['string.substring(int, int): string', substring],
  ['string.trim(): string', trim],
  ['string.format(list<dyn>): string', format],
  ['strings.quote(string): string', quoted],
  ['list<string>.join(): string', (list: string[]) => list.join('')],
  ['list<string>.join(string): string', (list: string[], separator: string) => list.join(separator)],
  [
    'string.find(string): string',
    (text: string, pattern: string) => matching(pattern, () => findMatches(pattern, text, 1)[0] ?? ''),
  ],
  ['string.findAll(string): list<string>', findAll],
  ['string.findAll(string, int): list<string>', findAll],
]
