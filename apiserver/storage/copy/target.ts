import type { Entry } from '../storage.ts'

/** Where objects are copied to. */
export interface Target {
  /** How many objects are there now. */
  readonly objects: number
  /** The revision of its last write. */
  readonly revision: number
  /**
   * Replaces what is there, with revisions above `after`. Resolves to the last revision. Rejects with an error that
   * says what is there now.
   */
  write(entries: readonly Entry[], progress: { after: number; onWritten(count: number): void }): Promise<number>
  close(): Promise<void>
}
