import type { Entry } from '../storage.ts'
import type { Change } from '../store-state.ts'

/** A write, and the revision of what it replaces. */
export interface Row extends Change {
  previous?: number
}

/** To the thread that has the file. */
export type Order =
  | { type: 'write'; rows: readonly Row[] }
  /** Forget what was replaced or deleted up to `revision`. */
  | { type: 'compact'; revision: number }
  | { type: 'close' }

/** From it. `write` is answered by `written` or `failed`, in order. */
export type Report =
  /** At the start: what was there at `oldest`, then everything since. */
  | { type: 'entries'; oldest: number; entries: readonly Entry[] }
  | { type: 'history'; changes: readonly Change[] }
  | { type: 'opened' }
  | { type: 'refused'; reason: string }
  | { type: 'written' }
  | { type: 'failed'; reason: string }
  | { type: 'closed' }
