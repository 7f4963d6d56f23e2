import { isIPv4 } from 'node:net'
import { isMap } from '../api/json/json-map.ts'
import { quantityValue } from '../api/quantities/quantity.ts'
import { subdomainMessages } from '../api/selectors/label-syntax.ts'
import { parseTime } from '../clock/timestamp.ts'
import { nearest } from './nearest.ts'
import type { OptionType } from './option.ts'
import { splitWords } from './words.ts'

export const text: OptionType<string> = {
  placeholder: 'TEXT',
  fromText: (value) => value,
  fromFile(value) {
    if (typeof value === 'string') return value
    throw mustBe('text', value)
  },
  show: (value) => value || undefined,
}

/** Accepts a Kubernetes object name such as `node-1.example.com`. */
export const subdomain: OptionType<string> = {
  ...text,
  placeholder: 'NAME',
  fromText: checkedSubdomain,
  fromFile: checkedSubdomain,
}

function checkedSubdomain(value: unknown): string {
  if (typeof value === 'string' && subdomainMessages(value).length === 0) return value
  throw mustBe("lower case letters, digits, '-' and '.', such as node-1", value)
}

export const path: OptionType<string> = { ...text, placeholder: 'PATH' }

/** A path that has to be said. */
export const folder: OptionType<string> = {
  ...path,
  schema: { type: 'string', minLength: 1 },
  fromText: notEmpty,
  fromFile: notEmpty,
}

function notEmpty(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw mustBe('the path of a folder', value)
}

export const flag: OptionType<boolean> = {
  schema: { type: 'boolean' },
  placeholder: '',
  fromText(value) {
    if (value === 'true' || value === 'false') return value === 'true'
    throw mustBe('true or false', value)
  },
  fromFile(value) {
    if (typeof value === 'boolean') return value
    throw mustBe('true or false', value)
  },
  show: String,
}

interface Bounds {
  min: number
  max: number
  placeholder: string
}

export function wholeNumber({ min, max, placeholder }: Bounds): OptionType<number> {
  const check = (value: unknown): number => {
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
    throw mustBe(`a whole number from ${min} to ${max}`, value)
  }
  return {
    placeholder,
    schema: { type: 'integer', minimum: min, maximum: max },
    fromText: (value) => check(/^\d+$/.test(value) ? Number(value) : value),
    fromFile: check,
    show: String,
  }
}

export function decimal({ min, max, placeholder }: Bounds): OptionType<number> {
  const check = (value: unknown): number => {
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw mustBe(`a number from ${min} to ${max}`, value)
  }
  return {
    placeholder,
    schema: { type: 'number', minimum: min, maximum: max },
    fromText: (value) => check(/^\d+(\.\d+)?$/.test(value) ? Number(value) : value),
    fromFile: check,
    show: String,
  }
}

/** `2026-11-21T15:00:00Z`; milliseconds since the Unix epoch for the program, 0 where nothing is said. */
export const instant: OptionType<number> = {
  placeholder: 'TIME',
  fromText: instantMs,
  fromFile: instantMs,
}

function instantMs(value: unknown): number {
  const ms = typeof value === 'string' ? parseTime(value) : Number.NaN
  if (Number.isNaN(ms)) throw mustBe('a time such as 2026-11-21T15:00:00Z', value)
  return ms
}

/** Accepts a Kubernetes quantity of bytes such as `10Mi`. */
export const bytes: OptionType<string> = {
  ...text,
  placeholder: 'QUANTITY',
  schema: { type: ['string', 'number'] },
  fromText: checkedBytes,
  fromFile: checkedBytes,
}

function checkedBytes(value: unknown): string {
  const given = typeof value === 'number' ? String(value) : value
  try {
    if (typeof given === 'string' && quantityValue(given) > 0) return given
  } catch {}
  throw mustBe('an amount of bytes such as 10Mi', value)
}

/** Accepts a node's `maxPods`. */
export const podCount = wholeNumber({ min: 1, max: 100_000, placeholder: 'NUMBER' })

export const port = wholeNumber({ min: 0, max: 65_535, placeholder: 'PORT' })

/** A range of IPv4 addresses: `10.96.0.0/16`. */
export const cidr: OptionType<string> = {
  ...text,
  placeholder: 'CIDR',
  fromText: checkedCidr,
  fromFile: checkedCidr,
}

function checkedCidr(value: unknown): string {
  const [address = '', bits = '', ...rest] = typeof value === 'string' ? value.split('/') : []
  if (!isIPv4(address) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32 || rest.length > 0)
    throw mustBe('a range of IPv4 addresses such as 10.96.0.0/16', value)
  return value as string
}

/** Accepts what another type accepts, or an empty text for none. */
export const orNone = (type: OptionType<string>): OptionType<string> => ({
  ...type,
  fromText: (value) => (value === '' ? '' : type.fromText(value)),
  fromFile: (value) => (value === '' ? '' : type.fromFile(value)),
})

export function oneOf<const Choice extends string>(...choices: Choice[]): OptionType<Choice> {
  const check = (value: unknown): Choice => {
    const found = choices.find((choice) => choice === value)
    if (found) return found
    throw mustBe(`one of ${choices.join(', ')}`, value)
  }
  return { placeholder: choices.join('|'), schema: { enum: choices }, fromText: check, fromFile: check, show: String }
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

const durationPattern = /^(\d+(\.\d+)?(ms|s|m|h))+$/

/** Written `500ms`, `30s`, `1m30s`; milliseconds for the program. */
export const duration: OptionType<number> = {
  placeholder: 'DURATION',
  schema: { type: 'string', pattern: durationPattern.source },
  fromText: durationMs,
  fromFile: durationMs,
  show(value) {
    if (value === 0) return '0s'
    const unit = (['h', 'm', 's', 'ms'] as const).find((candidate) => value % unitMs[candidate] === 0) ?? 'ms'
    return `${value / unitMs[unit]}${unit}`
  },
}

/** A {@link duration} within bounds, which are written as one. */
export function durationFrom({ min, max }: { min: string; max: string }): OptionType<number> {
  const check = (value: unknown): number => {
    const ms = durationMs(value)
    if (ms >= durationMs(min) && ms <= durationMs(max)) return ms
    throw mustBe(`a duration from ${min} to ${max}`, value)
  }
  return { ...duration, fromText: check, fromFile: check }
}

/** Milliseconds of `500ms`, `30s`, `1m30s`. Throws an Error that goes on where the name of what is read ends. */
export function durationMs(value: unknown): number {
  if (typeof value !== 'string' || !durationPattern.test(value)) {
    throw mustBe('a duration such as 500ms, 30s or 1m30s', value)
  }
  let total = 0
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * unitMs[unit as keyof typeof unitMs]
  }
  return total
}

/** `Name=true,Other=false` on the command line, a map in the file; only known names. */
export function featureGates<Gates extends Readonly<Record<string, boolean>>>(known: Gates): OptionType<Gates> {
  const set = (gates: Gates, name: string, value: boolean): Gates => {
    if (Object.hasOwn(known, name)) return { ...gates, [name]: value }
    throw new EntryError(name, `has an unrecognized feature gate: ${name}; ${suggestion(name, Object.keys(known))}`)
  }
  return {
    placeholder: 'NAME=true|false,…',
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.keys(known).map((name) => [name, flag.schema])),
      additionalProperties: false,
    },
    fromText(text, soFar = known) {
      return text.split(',').reduce((gates, pair) => {
        const [name = '', value = ''] = pair.split('=').map((part) => part.trim())
        return set(gates, name, flag.fromText(value))
      }, soFar)
    },
    fromFile(value) {
      return Object.entries(record(value)).reduce(
        (gates, [name, on]) => set(gates, name, readEntry(name, on, flag.fromFile)),
        known,
      )
    },
    show: (gates) =>
      Object.entries(gates)
        .map((pair) => pair.join('='))
        .join(','),
  }
}

const textList = { type: 'array', items: { type: 'string' } }

/** `a,b`, may be given several times; a list in the file. */
export const names: OptionType<string[]> = {
  placeholder: 'NAME,…',
  schema: textList,
  fromText: (value, soFar = []) => [...soFar, ...value.split(',').filter(Boolean)],
  fromFile(value) {
    if (!Array.isArray(value)) throw mustBe('a list of names', value)
    for (const name of value)
      if (typeof name !== 'string') throw new EntryError(String(name), mustBe('a list of names', value).message)
    return value
  },
}

/** May be given several times, each a text as a whole; a list in the file. */
export const texts: OptionType<string[]> = {
  placeholder: 'TEXT',
  schema: textList,
  fromText(value, soFar = []) {
    if (value === '') throw mustBe('a text', value)
    return [...soFar, value]
  },
  fromFile: (value) => names.fromFile(value),
}

/** Regular expressions, as {@link names}. */
export const patterns: OptionType<string[]> = {
  placeholder: 'REGEXP,…',
  schema: { type: 'array', items: { type: 'string', format: 'regex' } },
  fromText: (value, soFar) => checkPatterns(names.fromText(value, soFar)),
  fromFile: (value) => checkPatterns(names.fromFile(value)),
}

function checkPatterns(texts: string[]): string[] {
  for (const pattern of texts) {
    try {
      new RegExp(pattern)
    } catch {
      throw new EntryError(pattern, mustBe('a regular expression', pattern).message)
    }
  }
  return texts
}

/** `PATTERN=TEXT`, may be given several times; a map in the file. */
export const textMap: OptionType<Record<string, string>> = {
  placeholder: 'PATTERN=TEXT',
  schema: { type: 'object', additionalProperties: { type: 'string' } },
  fromText(value, soFar = {}) {
    const [key, entry] = pair(value)
    return { ...soFar, [key]: entry }
  },
  fromFile: (value) => mapValues(record(value), text.fromFile),
}

/** `PATTERN=COMMAND ARGS…`, taken apart as by a shell; in the file a list of words, too. */
export const commandMap: OptionType<Record<string, string[]>> = {
  placeholder: 'PATTERN=COMMAND',
  schema: { type: 'object', additionalProperties: { anyOf: [{ type: 'string' }, { ...textList, minItems: 1 }] } },
  fromText(value, soFar = {}) {
    const [key, entry] = pair(value)
    return { ...soFar, [key]: commandFrom(entry) }
  },
  fromFile: (value) => mapValues(record(value), commandFrom),
}

function commandFrom(value: unknown): string[] {
  const words = typeof value === 'string' ? splitWords(value) : value
  if (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')) return words
  throw mustBe('a command (text, or a list of texts)', value)
}

/** An image has no `=`, so the first one divides. */
function pair(value: string): [string, string] {
  const equals = value.indexOf('=')
  if (equals > 0 && equals < value.length - 1) return [value.slice(0, equals), value.slice(equals + 1)]
  throw mustBe("of the form 'PATTERN=VALUE', as in 'nginx:*=/usr/sbin/nginx'", value)
}

function mapValues<Value>(entries: Record<string, unknown>, read: (value: unknown) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, readEntry(key, value, read)]))
}

export function record(value: unknown): Record<string, unknown> {
  if (isMap(value)) return value
  throw mustBe('a map', value)
}

/** A mistake in one entry of a map or a list: a config file has a line of its own for it. */
export class EntryError extends Error {
  readonly entry: string
  constructor(entry: string, message: string) {
    super(message)
    this.entry = entry
  }
}

/** Throws an EntryError for what `read` throws. */
export function readEntry<From, Value>(entry: string, value: From, read: (value: From) => Value): Value {
  try {
    return read(value)
  } catch (error) {
    throw new EntryError(entry, `"${entry}" ${(error as Error).message}`)
  }
}

export function mustBe(expected: string, value: unknown): Error {
  return new Error(`must be ${expected}, not ${typeof value === 'number' ? value : JSON.stringify(value)}`)
}

export function suggestion(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near ? `did you mean ${near}?` : `there are ${known.join(', ')}`
}
