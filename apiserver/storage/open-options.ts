import type { Clock } from '../../shared/clock/clock.ts'

/** PEM files, by upstream's names of the flags; empty: none. */
export interface EtcdFiles {
  etcdCafile?: string
  etcdCertfile?: string
  etcdKeyfile?: string
}

/** What an engine is opened with, beside its place. */
export interface OpenOptions extends EtcdFiles {
  clock: Clock
  /** Told when there is no room for writes, and when there is again. */
  onRoom?(isFull: boolean): void
  /** One line about what failed and is tried again. */
  onTrouble?(line: string): void
  /** Default: /registry. */
  etcdPrefix?: string
}
