/** Strings and regular expressions. Positions count characters, as code points. */
import { findMatches, patternError, patternMatches } from '../../apiextensions/schema/re2.ts'
import type { Signature } from '../overloads.ts'
import { CelError } from '../values.ts'
import { format, quote } from './format.ts'

/** How many characters a text has. */
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

function charAt(text: string, at: bigint): string {
  const all = [...text]
  if (at < 0n || at > all.length) throw outOfRange(at)
  return all[Number(at)] ?? ''
}
function substring(text: string, start: bigint, end?: bigint): string {
  const all = isSimple(text) ? text : [...text]
  const last = end ?? BigInt(all.length)
  if (start < 0n || start > all.length) throw outOfRange(start)
  if (last < 0n || last > all.length) throw outOfRange(last)
  if (start > last) throw new CelError(`invalid substring range. start: ${start}, end: ${last}`)
  const part = all.slice(Number(start), Number(last))
  return typeof part === 'string' ? part : part.join('')
}
const position = (text: string, index: number): bigint => BigInt(index <= 0 ? index : characters(text.slice(0, index)))
const unitsOf = (text: string, count: bigint): number => [...text].slice(0, Number(count)).join('').length

function indexOf(text: string, part: string, from = 0n): bigint {
  if (part === '') return from
  if (from < 0n) throw outOfRange(from)
  return position(text, text.indexOf(part, unitsOf(text, from)))
}
function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const length = BigInt(characters(text))
  if (part === '') return from ?? length
  if (from === undefined) return position(text, text.lastIndexOf(part))
  if (from < 0n) throw outOfRange(from)
  if (from >= length) return -1n
  return position(text, text.lastIndexOf(part, unitsOf(text, from)))
}

/** At most `times`; negative: all. */
function replace(text: string, from: string, to: string, times = -1n): string {
  if (times < 0n) return text.replaceAll(from, () => to)
  let rest = text
  let out = ''
  for (let count = 0n; count < times; count++) {
    const at = rest.indexOf(from)
    if (at < 0) break
    if (from === '') {
      const [first = ''] = rest
      out += to + first
      rest = rest.slice(first.length)
      if (first === '') break
      continue
    }
    out += rest.slice(0, at) + to
    rest = rest.slice(at + from.length)
  }
  return out + rest
}
function split(text: string, separator: string, limit = -1n): string[] {
  if (limit === 0n) return []
  const parts = separator === '' ? [...text] : text.split(separator)
  if (limit < 0n || parts.length <= limit) return parts
  const count = Number(limit)
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)]
}
const SPACES = /^[\s\u0085]+|[\s\u0085]+$/g

/** Throws what Go says of a pattern that does not compile. */
function matching<T>(pattern: string, found: () => T): T {
  const problem = patternError(pattern)
  if (problem !== undefined) throw new CelError(problem)
  return found()
}
const matches = (text: string, pattern: string): boolean => matching(pattern, () => patternMatches(pattern, text))
const findAll = (text: string, pattern: string, limit = -1n): string[] =>
  matching(pattern, () => findMatches(pattern, text, limit < 0n ? undefined : Number(limit)))

export const TEXT: readonly Signature[] = [
  ['string.contains(string): bool', (text: string, part: string) => text.includes(part)],
  ['string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part)],
  ['string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part)],
  ['matches(string, string): bool', matches],
  ['string.matches(string): bool', matches],
  ['string.charAt(int): string', charAt],
  ['string.indexOf(string): int', (text: string, part: string) => position(text, text.indexOf(part))],
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
  ['string.trim(): string', (text: string) => text.replace(SPACES, '')],
  ['string.format(list<dyn>): string', format],
  ['strings.quote(string): string', quote],
  ['list<string>.join(): string', (list: string[]) => list.join('')],
  ['list<string>.join(string): string', (list: string[], separator: string) => list.join(separator)],
  [
    'string.find(string): string',
    (text: string, pattern: string) => matching(pattern, () => findMatches(pattern, text, 1)[0] ?? ''),
  ],
  ['string.findAll(string): list<string>', findAll],
  ['string.findAll(string, int): list<string>', findAll],
]
