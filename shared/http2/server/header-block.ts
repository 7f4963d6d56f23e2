import { ConnectionError, ErrorCode, Flag } from '../protocol.ts'
import { calmDown, dependsOnItself, protocolError, unpadded } from './frame-checks.ts'
import { maxHeaderListBytes } from './request-head.ts'

/** After this many continuations that carry almost nothing, the client is taken to send them without end. */
const maxContinuations = 64
const priorityBytes = 5

/** The head of a request, or its trailers, as HEADERS and CONTINUATION bring it. */
export class HeaderBlock {
  readonly streamId: number
  readonly endStream: boolean
  readonly selfDependent: boolean
  /** Holds the time of the first frame, on the connection's clock. */
  readonly openedMs: number
  #parts: Buffer[]
  #length: number

  constructor(streamId: number, flags: number, payload: Buffer, openedMs: number) {
    if (streamId % 2 === 0) throw protocolError('a client opens streams with odd numbers')
    let part = unpadded(flags, payload)
    this.streamId = streamId
    this.openedMs = openedMs
    this.endStream = (flags & Flag.endStream) !== 0
    this.selfDependent = false
    if (flags & Flag.priority) {
      if (part.length < priorityBytes) throw new ConnectionError(ErrorCode.frameSizeError, 'no room for the priority')
      this.selfDependent = dependsOnItself(streamId, part)
      part = part.subarray(priorityBytes)
    }
    this.#parts = [part]
    this.#length = part.length
  }

  append(part: Buffer): void {
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length > maxHeaderListBytes || this.#parts.length > maxContinuations) {
      throw calmDown('a head without end', 'requestHead')
    }
  }

  get bytes(): Buffer {
    return this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
  }
}
