import type { Logger } from '../../shared/log/log.ts'
import type { Family } from '../../shared/metrics/exposition.ts'
import type { WatchSink } from './watch-sink.ts'

/** Bytes a watcher may leave unread before it is cut off. */
export const maxBufferedBytes = 8 * 1024 * 1024

/** Watchers that share their chunks. */
export interface Behind {
  /** Bytes that the slowest of them has not read: what the group keeps in memory. */
  unread(): number
}

type Cut = Pick<WatchSink<never>, 'client' | 'abort'>

/** A new count is worth it after so much of the limit. */
const recountShare = 1 / 16

/**
 * What all watchers of the server leave unread. When that is more than the limit, those that have left more than their share
 * are cut off as well: many watches of one client hold no more than a single one could.
 */
export class WatchBacklog {
  readonly #limit: number
  readonly #log: Logger | undefined
  readonly #groups = new Map<Behind, number>()
  #bytes = 0
  /** Noted since the last count. */
  #uncounted = 0
  #cut = 0

  constructor(limit: number, log?: Logger) {
    this.#limit = limit
    this.#log = log
  }

  /** Bytes that a watcher may leave unread now. */
  get allowance(): number {
    return this.#bytes <= this.#limit ? maxBufferedBytes : Math.min(maxBufferedBytes, this.#limit / this.#groups.size)
  }

  /** After a delivery: what the slowest of a group has not read. */
  note(group: Behind, bytes: number): void {
    const before = this.#groups.get(group) ?? 0
    if (bytes === before) return
    this.#set(group, bytes)
    this.#uncounted += Math.max(0, bytes - before)
    if (this.#bytes > this.#limit && this.#uncounted > this.#limit * recountShare) this.#recount()
  }

  cut(sink: Cut, bytes: number): void {
    this.#cut++
    this.#log?.warn({ client: sink.client, bytes }, 'watch cut off: its client does not read')
    sink.abort()
  }

  families(): Family[] {
    this.#recount()
    return [
      {
        name: 'kubestage_apiserver_unread_watch_bytes',
        type: 'gauge',
        help: 'Bytes of events that clients of watches have not read.',
        samples: [{ value: this.#bytes }],
      },
      {
        name: 'kubestage_apiserver_unread_watches_cut_total',
        type: 'counter',
        help: 'Watches cut off because their client did not read.',
        samples: [{ value: this.#cut }],
      },
    ]
  }

  #set(group: Behind, bytes: number): void {
    this.#bytes += bytes - (this.#groups.get(group) ?? 0)
    if (bytes > 0) this.#groups.set(group, bytes)
    else this.#groups.delete(group)
  }

  #recount(): void {
    this.#uncounted = 0
    for (const group of this.#groups.keys()) this.#set(group, group.unread())
  }
}
