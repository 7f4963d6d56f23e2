import type { Change } from '../store-state.ts'

/** A write, and the revision of what it replaces. */
export interface Row extends Change {
  previous?: number
  /** A delete, or what leads to one: it may use the room that is reserved for a full disk. */
  freeing?: boolean
}

/** Asks the thread that has the file open to do something. */
export type Order =
  | { type: 'write'; rows: readonly Row[] }
  /** Forget what was replaced or deleted up to `revision`. */
  | { type: 'compact'; revision: number }
  /** Asks whether the disk has room again. The answer is `room`. */
  | { type: 'look' }
  /** Asks for more of what is in the file, at the start. */
  | { type: 'read' }
  | { type: 'close' }

/**
 * Answers from the thread that has the file open. A change without a value is a delete. Each `write` is answered by
 * `written` or `failed`, in order.
 */
export type Report =
  /** At the start, one for each `read`: what was there at `oldest`, then everything since. */
  | { type: 'entries'; oldest: number; entries: readonly Change[] }
  | { type: 'history'; changes: readonly Change[] }
  | { type: 'opened' }
  | { type: 'refused'; reason: string }
  | { type: 'written' }
  | { type: 'failed'; reason: string; isFull: boolean }
  /** Says whether the disk is full, so that only deletes are written. It is sent at the start, and as an answer. */
  | { type: 'room'; isFull: boolean }
  | { type: 'closed' }
