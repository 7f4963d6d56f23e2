import type { StatusError } from '../../shared/api/status-error.ts'
import type { WatchRecord } from './watch-record.ts'

/** Turns events into what a sink takes: bytes of a stream, or objects for a client in this process. */
export interface WatchEncoder<Chunk> {
  /** Watches with equal id and selection share one encoding; without an id none is shared. */
  readonly id?: string
  /** Its watchers are in this process: no client waits for them. */
  readonly isLocal?: boolean
  encode(records: readonly WatchRecord[]): Chunk
}

/** Where a watcher's events go. */
export interface WatchSink<Chunk> {
  /** Absent for one in this process. */
  readonly connection?: { readonly remoteAddress?: string; readonly remotePort?: number }
  write(chunk: Chunk): void
  /** Bytes written that the other side has not taken yet. */
  buffered(): number
  /** Resolves when it makes sense to write on; rejects or resolves when the other side is gone. */
  drained(): Promise<void>
  /** After what was written; with an error it is told first, as an ERROR event. */
  end(error?: StatusError): void
  /** Cut off at once: it does not read, so it could not be told either. */
  abort(): void
}
