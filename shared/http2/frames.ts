import { defaultMaxFrameSize, ErrorCode, FrameType, frameHeaderBytes } from './protocol.ts'

/** Returns a frame with room for its payload. */
export function emptyFrame(type: number, flags: number, streamId: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + length)
  bytes.writeUIntBE(length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(streamId, 5)
  return bytes
}

/** Returns a frame with a copy of its payload. */
export function frameOf(type: number, flags: number, streamId: number, payload: ArrayLike<number>): Buffer {
  const bytes = emptyFrame(type, flags, streamId, payload.length)
  bytes.set(payload, frameHeaderBytes)
  return bytes
}

export const uint32 = (value: number): number[] => [
  value >>> 24,
  (value >> 16) & 0xff,
  (value >> 8) & 0xff,
  value & 0xff,
]

export const setting = (name: number, value: number): number[] => [name >> 8, name, ...uint32(value)]

export const goAway = (lastStreamId: number, code: ErrorCode = ErrorCode.noError): Buffer =>
  frameOf(FrameType.goAway, 0, 0, [...uint32(lastStreamId), ...uint32(code)])

export const resetStream = (streamId: number, code: ErrorCode): Buffer =>
  frameOf(FrameType.resetStream, 0, streamId, uint32(code))

export const windowUpdate = (streamId: number, bytes: number): Buffer =>
  frameOf(FrameType.windowUpdate, 0, streamId, uint32(bytes))

/** `payload` is a view of what arrived. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => void

/**
 * Calls `onFrame` for each whole frame of `bytes` from `at` on, and returns where the first that is not whole begins.
 * Throws what `tooLarge` makes of the length of a frame beyond the default, as soon as its header is there, and what
 * `onFrame` throws.
 */
export function cutFrames(bytes: Buffer, at: number, onFrame: OnFrame, tooLarge: (length: number) => Error): number {
  let from = at
  while (bytes.length - from >= frameHeaderBytes) {
    const length = (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!
    if (length > defaultMaxFrameSize) throw tooLarge(length)
    const end = from + frameHeaderBytes + length
    if (end > bytes.length) break
    const streamId = bytes.readUInt32BE(from + 5) & 0x7fffffff
    onFrame(bytes[from + 3]!, bytes[from + 4]!, streamId, bytes.subarray(from + frameHeaderBytes, end))
    from = end
  }
  return from
}
