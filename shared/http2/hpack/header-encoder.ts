import type { OutgoingHttpHeaders } from 'node:http'
import { connectionFields } from '../protocol.ts'
import { staticNames, staticTable } from './header-tables.ts'

const repeating = ['cache-control', 'content-type', 'content-encoding', 'vary', 'x-content-type-options']
/** Fields whose values repeat from answer to answer: their bytes are kept, by name and value. */
const kept: ReadonlyMap<string, Map<string, Buffer>> = new Map(repeating.map((name) => [name, new Map()]))
/** Bounds the values that are kept of each field. */
const maxKept = 16

const statusNumbers = new Map(
  staticTable.flatMap(({ name, value }, index) => (name === ':status' ? [[value, index + 1]] : [])),
)

let scratch: Buffer = Buffer.allocUnsafeSlow(4096)
let at = 0

/**
 * Encodes the head of an answer in HPACK. It never adds to the client's table, so that every block is independent. The
 * bytes are valid until the next call.
 */
export function encodeHead(
  status: number,
  fields: OutgoingHttpHeaders,
  { date, prefix }: { date: string; prefix?: number },
): Buffer {
  at = 0
  if (prefix !== undefined) scratch[at++] = prefix
  const number = statusNumbers.get(String(status))
  if (number === undefined) appendField(':status', String(status))
  else scratch[at++] = 0x80 | number
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined || connectionFields.has(name)) continue
    if (Array.isArray(value)) for (const each of value) appendField(name, each)
    else appendOne(name, String(value))
  }
  if (fields.date === undefined) appendField('date', date)
  return scratch.subarray(0, at)
}

/** Comes before the first block of a connection: the client need not keep a dynamic table (RFC 7541, 6.3). */
export const noTable = 0x20

function appendOne(name: string, value: string): void {
  const known = kept.get(name)
  if (!known) {
    appendField(name, value)
    return
  }
  const bytes = known.get(value)
  if (bytes) {
    reserve(bytes.length)
    scratch.set(bytes, at)
    at += bytes.length
    return
  }
  const start = at
  appendField(name, value)
  if (known.size < maxKept) known.set(value, Buffer.from(scratch.subarray(start, at)))
}

/** A literal field without indexing (RFC 7541, 6.2.2), its name by number where it has one. */
function appendField(name: string, value: string): void {
  const number = staticNames.get(name)
  if (number === undefined) {
    reserve(1)
    scratch[at++] = 0
    appendText(name.toLowerCase())
  } else {
    reserve(integerBytes)
    appendInteger(number, 4)
  }
  appendText(value)
}

/** Up to here it is quicker to copy a text than to call what copies it. Its length fits into one byte. */
const maxShort = 64

function appendText(text: string): void {
  if (text.length <= maxShort && appendShort(text)) return
  const length = Buffer.byteLength(text)
  reserve(length + integerBytes)
  appendInteger(length, 7)
  scratch.write(text, at, length, length === text.length ? 'latin1' : 'utf8')
  at += length
}

/** Returns false for a text that is not ASCII, of which it appends nothing. */
function appendShort(text: string): boolean {
  const { length } = text
  reserve(length + 1)
  const bytes = scratch
  const start = at + 1
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) return false
    bytes[start + index] = code
  }
  bytes[at] = length
  at = start + length
  return true
}

const integerBytes = 5

function appendInteger(value: number, bits: number): void {
  const most = (1 << bits) - 1
  if (value < most) {
    scratch[at++] = value
    return
  }
  scratch[at++] = most
  for (value -= most; value >= 0x80; value >>= 7) scratch[at++] = (value & 0x7f) | 0x80
  scratch[at++] = value
}

function reserve(bytes: number): void {
  if (at + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
  scratch.copy(larger, 0, 0, at)
  scratch = larger
}
