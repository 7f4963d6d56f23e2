import { emptyFrame, frameOf, setting, windowUpdate } from '../../http2/frames.ts'
import {
  defaultMaxFrameSize,
  defaultWindow,
  Flag,
  FrameType,
  frameHeaderBytes,
  maxWindow,
  preface,
  Setting,
} from '../../http2/protocol.ts'
import type { PlainRequest } from '../transport.ts'

/** Numbers of RFC 7541, appendix A. */
const known = { authority: 1, get: 2, post: 3, method: 2, path: 4, https: 7, contentLength: 28, contentType: 31 }
const indexed = (number: number): string => String.fromCharCode(0x80 | number)
const firstStatus = 8
const statuses = [200, 204, 206, 304, 400, 404, 500]

/** No table of fields, no pushes, and as much of each answer as there is. */
const ourSettings = [
  [Setting.headerTableSize, 0],
  [Setting.enablePush, 0],
  [Setting.initialWindowSize, maxWindow],
].flatMap(([name = 0, value = 0]) => setting(name, value))

/** A client sends these frames first. */
export const greeting = Buffer.concat([
  preface,
  frameOf(FrameType.settings, 0, 0, ourSettings),
  windowUpdate(0, maxWindow - defaultWindow),
])

export function dataFrame(streamId: number, part: Buffer, isLast: boolean): Buffer {
  return frameOf(FrameType.data, isLast ? Flag.endStream : 0, streamId, part)
}

/** HEADERS, and CONTINUATION where they are too long for one frame. */
export function headFrames(streamId: number, head: string, isAll: boolean): Buffer {
  const frames: Buffer[] = []
  for (let at = 0; at < head.length; at += defaultMaxFrameSize) {
    const part = head.slice(at, at + defaultMaxFrameSize)
    const ends = (at === 0 && isAll ? Flag.endStream : 0) | (at + part.length === head.length ? Flag.endHeaders : 0)
    const bytes = emptyFrame(at === 0 ? FrameType.headers : FrameType.continuation, ends, streamId, part.length)
    bytes.write(part, frameHeaderBytes, 'latin1')
    frames.push(bytes)
  }
  return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
}

/**
 * HPACK of a request's head, as characters that are bytes. Without a dynamic table. `rest`: of fields that are always
 * the same.
 */
export function requestHead(
  { method, path, contentType }: PlainRequest,
  { bodyBytes, rest }: { bodyBytes: number | undefined; rest: string },
): string {
  const how =
    method === 'GET' ? indexed(known.get) : method === 'POST' ? indexed(known.post) : field(known.method, method)
  const content =
    bodyBytes === undefined
      ? ''
      : field(known.contentType, contentType ?? '') + field(known.contentLength, String(bodyBytes))
  return how + field(known.path, path) + rest + content
}

/** The fields that each request of a connection has. */
export const commonHead = (authority: string, headers: Record<string, string>): string =>
  indexed(known.https) +
  field(known.authority, authority) +
  Object.entries(headers)
    .map(([name, value]) => `\x10${text(name)}${text(value)}`)
    .join('')

/** A literal that is not to be remembered, its name by number (RFC 7541, 6.2.2). */
const field = (name: number, value: string): string =>
  (name < 15 ? String.fromCharCode(name) : `\x0f${String.fromCharCode(name - 15)}`) + text(value)

/** A length in 7 bits, with more bytes from 127 on (RFC 7541, 5.1), then the text. */
function text(value: string): string {
  if (value.length < 127) return String.fromCharCode(value.length) + value
  let length = String.fromCharCode(127)
  let rest = value.length - 127
  for (; rest >= 128; rest >>= 7) length += String.fromCharCode((rest & 127) | 128)
  return length + String.fromCharCode(rest) + value
}

/**
 * The status, which is the first field of an answer's head, and all that is wanted of it. As we allow no table of
 * fields, it is a number of the static table or a literal. Undefined for what is neither.
 */
export function statusIn(block: Buffer): number | undefined {
  let at = 0
  // Changes of the table's size, which may come first.
  while (((block[at] ?? 0) & 0xe0) === 0x20) {
    const isLong = (block[at++]! & 0x1f) === 0x1f
    if (isLong) while ((block[at++] ?? 0) & 0x80);
  }
  const first = block[at] ?? 0
  if (first & 0x80) return statuses[(first & 0x7f) - firstStatus]
  const name = (first & 0x40 ? first & 0x3f : first & 0x0f) - firstStatus
  const isStatus = name >= 0 && name < statuses.length
  const length = block[at + 1] ?? 0
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f))
  const digits = isStatus ? (length & 0x80 ? huffmanDigits(value) : value.toString('latin1')) : ''
  return /^\d{3}$/.test(digits) ? Number(digits) : undefined
}

/** RFC 7541, appendix B: 0 to 2 have five bits, 3 to 9 six. */
function huffmanDigits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let digits = ''
  for (let at = 0; bits.length - at >= 5; ) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2)
    const six = Number.parseInt(bits.slice(at, at + 6), 2)
    if (five <= 2) digits += five
    else if (six >= 0x19 && six <= 0x1f) digits += six - 0x19 + 3
    else break
    at += five <= 2 ? 5 : 6
  }
  return digits
}
