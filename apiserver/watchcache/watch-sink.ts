import type { StatusError } from '../../shared/api/status/status-error.ts'
import type { WatchRecord } from './watch-record.ts'

/** Turns events into what a sink takes: bytes of a stream, or objects for a client in this process. */
export interface WatchEncoder<Chunk> {
  /** Watches with equal id and selection share one encoding; without an id none is shared. */
  readonly id?: string
  /** True if the watchers are in this process, so that no client waits for them. */
  readonly isLocal?: boolean
  encode(records: readonly WatchRecord[]): Chunk
}

/** A watcher's events are written to its WatchSink. */
export interface WatchSink<Chunk> {
  /** The connection of the watcher; absent if the watcher is in this process. */
  readonly connection?: { readonly remoteAddress?: string; readonly remotePort?: number }
  write(chunk: Chunk): void
  /** Returns the number of written bytes that the client has not taken yet. */
  buffered(): number
  /** Resolves when the sink can take more writes; rejects or resolves if the client is gone. */
  drained(): Promise<void>
  /** Closes after pending writes; sends an ERROR event first if `error` is given. */
  end(error?: StatusError): void
  /** Closes at once, without an ERROR event: the client does not read, so the event could not reach it. */
  abort(): void
}
