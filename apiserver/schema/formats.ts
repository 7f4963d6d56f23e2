import { isIP, isIPv4 } from 'node:net'

/**
 * The string formats that a custom resource's schema may name, by the name without dashes, and what they accept.
 * Unknown formats are not checked: the CRD's author is warned.
 */
const FORMATS: Record<string, (text: string) => boolean> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  uri: isUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: (text) => text.includes('.') && isSloppyIp(text),
  ipv6: (text) => text.includes(':') && isSloppyIp(text),
  cidr: isCidr,
  mac: (text) => MAC.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  uuid3: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  uuid4: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text),
  uuid5: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: isRgbColor,
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  password: () => true,
  date: isDate,
  duration: (text) => parseDuration(text) !== undefined,
  datetime: isDateTime,
  k8sshortname: (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text),
  k8slongname: (text) =>
    text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
}
const lookup = (format: string): ((text: string) => boolean) | undefined => {
  const name = format.replaceAll('-', '')
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined
}

export const isKnownFormat = (format: string): boolean => lookup(format) !== undefined
export const matchesFormat = (format: string, text: string): boolean => lookup(format)?.(text) ?? true

/** Matches 6, 8 or 20 bytes: with colons, dashes, dots after each second byte, or nothing between them. */
const MAC = new RegExp(
  [6, 8, 20]
    .flatMap((bytes) => [
      `[0-9a-f]{2}(:[0-9a-f]{2}){${bytes - 1}}`,
      `[0-9a-f]{2}(-[0-9a-f]{2}){${bytes - 1}}`,
      `[0-9a-f]{4}(\\.[0-9a-f]{4}){${bytes / 2 - 1}}`,
      `[0-9a-f]{${bytes * 2}}`,
    ])
    .map((form) => `^${form}$`)
    .join('|'),
  'i',
)

/** IPv4 with leading zeros is accepted, as upstream does for the sake of old objects. */
function isSloppyIp(text: string): boolean {
  return isIP(text) !== 0 || isIPv4(text.replace(/(^|\.)0+(?=\d)/g, '$1'))
}
function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || !isSloppyIp(address)) return false
  return Number(bits) <= (address.includes(':') ? 128 : 32)
}

function isUri(text: string): boolean {
  if (text === '' || [...text].some((char) => char < ' ' || char === '\u007f')) return false
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0] ?? ''
  if (scheme === '' && !text.startsWith('/')) return false
  const rest = text.slice(scheme.length)
  if (/%(?![0-9a-fA-F]{2})/.test(rest.split('?')[0] ?? '')) return false
  const authority = /^\/\/([^/?]*)/.exec(rest)?.[1] ?? ''
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  return /^(\[[^\]]*\]|[^\s"<>[\]^`{|}\\:]*)(:\d*)?$/.test(host)
}

function isEmail(text: string): boolean {
  const address = /^(?:.*)<([^<>]*)>$/.exec(text.trim())?.[1] ?? text.trim()
  return /^("(?:[^"\\]|\\.)*"|[^\s"(),:;<>@[\\\].]+(\.[^\s"(),:;<>@[\\\].]+)*)@([^\s"(),:;<>@[\\\].]+(\.[^\s"(),:;<>@[\\\].]+)*|\[[^\]\s]*\])$/.test(
    address,
  )
}

/** A host name is one label, or labels before a top-level domain of letters: `a.b` is none, `a.bc` is. */
function isHostname(text: string): boolean {
  if (text.length > 255 || text.split('.').some((label) => label.length > 63)) return false
  return (
    /^[a-zA-Z0-9\p{S}\p{L}](-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?$/u.test(text) ||
    /^([a-zA-Z0-9\p{S}\p{L}]([-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u.test(text)
  )
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  return (
    [...digits].reduce((sum, digit, index) => sum + (10 - index) * (digit === 'X' ? 10 : Number(digit)), 0) % 11 === 0
  )
}
function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return [...digits].reduce((sum, digit, index) => sum + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14})$/.test(
      digits,
    )
  )
    return false
  const sum = [...digits].reverse().reduce((total, char, index) => {
    const digit = Number(char) * (index % 2 === 0 ? 1 : 2)
    return total + (digit > 9 ? digit - 9 : digit)
  }, 0)
  return sum % 10 === 0
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text)?.slice(1)
  return parts?.every((part) => Number(part) <= 255) ?? false
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (match === null) return false
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}
const daysIn = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : [4, 6, 9, 11].includes(month)
      ? 30
      : 31

function isDateTime(text: string): boolean {
  const [date = '', time, ...rest] = text.toLowerCase().split('t')
  if (time === undefined || rest.length > 0 || !isDate(date)) return false
  const match = /^(\d\d):(\d\d):(\d\d)(\.\d+)?(z|[+-]\d\d:\d\d)$/.exec(time)
  return match !== null && Number(match[1]) <= 23 && Number(match[2]) <= 59 && Number(match[3]) <= 59
}

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}
/** Each with its short forms; a word that only begins with the last one is that unit too. */
const WORDS: [string[], number][] = [
  [['ns', 'nano'], 1e-6],
  [['us', 'µs', 'micro'], 1e-3],
  [['ms', 'milli'], 1],
  [['s', 'sec'], 1000],
  [['m', 'min'], 60_000],
  [['h', 'hr', 'hour'], 3_600_000],
  [['d', 'day'], 86_400_000],
  [['w', 'wk', 'week'], 604_800_000],
]
const MAX_INT64 = 2 ** 63
/** A duration as Go writes it (`1h30m`), or in words (`5 days`), in milliseconds. */
export function parseDuration(text: string): number | undefined {
  return parseGoDuration(text) ?? parseWords(text)
}
function parseGoDuration(text: string): number | undefined {
  const match = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text)
  if (match === null) return undefined
  let sum = 0
  for (const [, amount, unit] of (match[2] ?? '').matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g))
    sum += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  return match[1] === '-' ? -sum : sum
}
/** The amounts with a known unit count, wherever they stand; there must be one. */
function parseWords(text: string): number | undefined {
  let sum = 0
  let found = false
  for (const [, amount, word = ''] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    if (Number(amount) >= MAX_INT64) return undefined
    const unit = unitOf(word.toLowerCase())
    if (unit === undefined) continue
    sum += Number(amount) * unit
    found = true
  }
  return found ? sum : undefined
}

const unitOf = (word: string): number | undefined =>
  WORDS.find(([forms]) => forms.includes(word) || word.startsWith(forms.at(-1) ?? ''))?.[1]
