import type { Clock } from '../../shared/clock/clock.ts'

/** PEM files, by upstream's names of the flags; empty: none. */
export interface EtcdFiles {
  etcdCafile?: string
  etcdCertfile?: string
  etcdKeyfile?: string
}

/** Holds the options for opening any engine, beside its place. */
export interface OpenOptions extends EtcdFiles {
  clock: Clock
  /** Runs when the store has no room for writes, and when it has room again. */
  onRoom?(isFull: boolean): void
  /** Receives one line about each failure that is retried. */
  onTrouble?(line: string): void
  /** Sets the prefix; /registry by default. */
  etcdPrefix?: string
  /** Path of a Unix socket at which other API servers of this machine reach a store in memory or in a file. */
  offerAt?: string
}
