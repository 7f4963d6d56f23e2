import type { Family } from '../../shared/metrics/exposition.ts'
import { gauge } from '../../shared/metrics/series.ts'
import type { WatchSink } from './watch-sink.ts'

/** A group of watchers that share their chunks. */
export interface Behind {
  /** Bytes that the slowest of them has not read: what the group keeps in memory. */
  unread(): number
}

type Cut = Pick<WatchSink<never>, 'connection' | 'abort'>

export interface BacklogLimits {
  /** Bytes that one watcher, or all together, may leave unread. */
  perWatch: number
  all: number
  /** A watch is about to be cut off. */
  onReached?(limit: 'perWatch' | 'all', cut: Cut, bytes: number): void
}

const defaultBytes = 8 * 1024 * 1024
/** A new count is worth it after so much of the limit. */
const recountShare = 1 / 16

/**
 * Limits the bytes that all watchers of the server together leave unread. Above the limit, each watcher that has left
 * more than its share is cut off as well: many watches of one client hold no more memory than one watch could.
 */
export class WatchBacklog {
  readonly #limits: BacklogLimits
  readonly #groups = new Map<Behind, number>()
  #bytes = 0
  /** Counts what was noted since the last count. */
  #uncounted = 0

  constructor(limits: BacklogLimits = { perWatch: defaultBytes, all: defaultBytes }) {
    this.#limits = limits
  }

  /** The number of bytes that a watcher may leave unread now. */
  get allowance(): number {
    const { all, perWatch } = this.#limits
    return this.#bytes <= all ? perWatch : Math.min(perWatch, all / this.#groups.size)
  }

  /** Records, after a delivery, how many bytes the slowest watcher of a group has not read. */
  note(group: Behind, bytes: number): void {
    const before = this.#groups.get(group) ?? 0
    if (bytes === before) return
    this.#set(group, bytes)
    this.#uncounted += Math.max(0, bytes - before)
    const { all } = this.#limits
    if (this.#bytes > all && this.#uncounted > all * recountShare) this.#recount()
  }

  cut(sink: Cut, bytes: number): void {
    const { perWatch, onReached } = this.#limits
    onReached?.(bytes > perWatch ? 'perWatch' : 'all', sink, bytes)
    sink.abort()
  }

  families(): Family[] {
    this.#recount()
    const help = 'Bytes of events that clients of watches have not read.'
    return [gauge('kubestage_apiserver_unread_watch_bytes', help, this.#bytes)]
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
