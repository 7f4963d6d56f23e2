import type { ErrorCode } from '../protocol.ts'

/** Provides what requests and responses need of their connection. */
export interface StreamOwner {
  /** The largest frame that this side may send. */
  readonly maxFrameSize: number
  /** A part of a request's body was taken. */
  consumed(id: number, bytes: number): void
  /** A response may have something to send. */
  ready(id: number): void
  /** A stream is to end at once. */
  reset(id: number, code: ErrorCode): void
  /** Returns the value of the Date field. */
  date(): string
  /** Returns the byte that must precede the next head, if any. */
  headPrefix(): number | undefined
  headWritten(): void
}
