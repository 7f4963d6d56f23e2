export type Frame =
  | { type: 'data'; streamId: number; fin: boolean; payload: Buffer }
  | { type: 'control'; kind: number; flags: number; payload: Buffer }

export const synStream = 1
export const synReply = 2
export const rstStream = 3
export const ping = 6
export const flagFin = 1
export const statusProtocolError = 1
export const statusCancel = 5

const headBytes = 8
const version = 3

/** SPDY/3.1 frames, however the bytes are cut. Reads on only when asked for the next frame. */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    pending = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk
    let offset = 0
    while (pending.length - offset >= headBytes) {
      const end = offset + headBytes + pending.readUIntBE(offset + 5, 3)
      if (pending.length < end) break
      yield decode(pending.subarray(offset, end))
      offset = end
    }
    pending = pending.subarray(offset)
  }
}

function decode(bytes: Buffer): Frame {
  const first = bytes.readUInt32BE(0)
  const flags = bytes[4] ?? 0
  const payload = bytes.subarray(headBytes)
  if (first < 0x8000_0000) return { type: 'data', streamId: first, fin: (flags & flagFin) !== 0, payload }
  return { type: 'control', kind: first & 0xffff, flags, payload }
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
