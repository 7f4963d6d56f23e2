import type { Entry } from '../storage.ts'

/** A copy writes its objects to a Target. */
export interface Target {
  /** Counts the objects that the target holds before the copy. */
  readonly objects: number
  /** The revision of the target's last write. */
  readonly revision: number
  /**
   * Replaces the target's objects by `entries`, with revisions above `after`. Resolves to the last revision. Rejects
   * with an error that says what the target holds now.
   */
  write(entries: readonly Entry[], progress: { after: number; onWritten(count: number): void }): Promise<number>
  close(): Promise<void>
}
