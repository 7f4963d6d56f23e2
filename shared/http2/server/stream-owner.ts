import type { ErrorCode } from '../protocol.ts'

/** Provides what requests and responses need of their connection. */
export interface StreamOwner {
  /** Of what we send. */
  readonly maxFrameSize: number
  /** A part of a request's body was taken. */
  consumed(id: number, bytes: number): void
  /** A response may have something to send. */
  ready(id: number): void
  /** A stream is to end at once. */
  reset(id: number, code: ErrorCode): void
  /** For the Date field. */
  date(): string
  /** What must stand before the next head. */
  headPrefix(): number | undefined
  headWritten(): void
}
