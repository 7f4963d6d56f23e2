import { Gathered, tooLarge } from '../client/gathered.ts'

export type Frame =
  | { type: 'data'; streamId: number; fin: boolean; payload: Buffer }
  | { type: 'control'; kind: number; flags: number; payload: Buffer }

export const synStream = 1
export const synReply = 2
export const rstStream = 3
export const ping = 6
export const flagFin = 1
export const statusProtocolError = 1
export const statusRefusedStream = 3
export const statusCancel = 5

const headBytes = 8
const version = 3

/**
 * A frame that opens a stream may have this size, which leaves room for many headers; what clients send has less than 1
 * KiB.
 */
const maxControlBytes = 16 * 1024

/**
 * SPDY/3.1 frames, however the bytes are cut; a data frame may come as several, of which the last has its `fin`. Reads
 * on only when asked for the next frame. Throws for a control frame that is too large.
 */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  const head = new Gathered('a head', headBytes)
  const payload = new Gathered('a control frame', maxControlBytes)
  let frame: Begun | undefined
  for await (const chunk of source) {
    let at = 0
    do {
      if (!frame) {
        const end = at + headBytes - head.length
        head.add(chunk.subarray(at, end))
        at = Math.min(end, chunk.length)
        if (head.length < headBytes) break
        frame = begin(head.take())
      }
      const part = chunk.subarray(at, at + frame.left)
      at += part.length
      frame.left -= part.length
      const isWhole = frame.left === 0
      if (frame.type === 'data') {
        if (part.length > 0 || isWhole) yield { ...frame, fin: frame.fin && isWhole, payload: part }
      } else {
        payload.add(part)
        if (isWhole) yield { ...frame, payload: payload.take() }
      }
      if (isWhole) frame = undefined
    } while (at < chunk.length)
  }
}

/** A frame of which so many bytes are still to come. */
type Begun = { left: number } & (
  | { type: 'data'; streamId: number; fin: boolean }
  | { type: 'control'; kind: number; flags: number }
)

function begin(head: Buffer): Begun {
  const first = head.readUInt32BE(0)
  const flags = head[4] ?? 0
  const left = head.readUIntBE(5, 3)
  if (first < 0x8000_0000) return { type: 'data', streamId: first, fin: (flags & flagFin) !== 0, left }
  if (left > maxControlBytes) throw tooLarge('a control frame', maxControlBytes)
  return { type: 'control', kind: first & 0xffff, flags, left }
}

export function dataFrame(streamId: number, payload: Buffer, { fin }: { fin: boolean }): Buffer {
  return frame(streamId, fin ? flagFin : 0, payload)
}

export function controlFrame(kind: number, payload: Buffer): Buffer {
  return frame(((0x8000 | version) << 16) | kind, 0, payload)
}

export function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

function frame(first: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(first >>> 0, 0)
  head[4] = flags
  head.writeUIntBE(payload.length, 5, 3)
  return Buffer.concat([head, payload])
}
