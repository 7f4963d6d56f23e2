import type { KubeObject } from '../../shared/api/types.ts'
import { type EventSource, eventRounds } from './event-rounds.ts'
import type { Selection } from './selection.ts'
import type { Behind, WatchBacklog } from './watch-backlog.ts'
import { type CacheEvent, recordOf, type WatchRecord } from './watch-record.ts'
import type { WatchEncoder, WatchSink } from './watch-sink.ts'

interface Delivery<Chunk> {
  readonly chunk: Chunk
  readonly sinks: readonly WatchSink<Chunk>[]
  next: number
  /** Counts what the slowest sink before `next` has not read. */
  unread: number
}

/**
 * Watchers that see the same: what happens in one turn of the event loop is encoded once, and the same chunk goes to
 * all of them.
 */
export class WatchGroup<Chunk> implements EventSource, Behind {
  readonly selection: Selection
  readonly bookmarks: boolean
  readonly #encoder: WatchEncoder<Chunk>
  readonly #backlog: WatchBacklog
  readonly #sinks = new Set<WatchSink<Chunk>>()
  /** Deliveries share this list of the watchers until one comes or goes. */
  #list: readonly WatchSink<Chunk>[] | undefined
  #pending: WatchRecord[] = []
  #deliveries: Delivery<Chunk>[] = []

  constructor(
    { selection, bookmarks }: { selection: Selection; bookmarks: boolean },
    encoder: WatchEncoder<Chunk>,
    backlog: WatchBacklog,
  ) {
    this.selection = selection
    this.bookmarks = bookmarks
    this.#encoder = encoder
    this.#backlog = backlog
  }

  get size(): number {
    return this.#sinks.size
  }

  /** Sees what is pushed from now on. */
  add(sink: WatchSink<Chunk>): void {
    this.seal()
    this.#sinks.add(sink)
    this.#list = undefined
  }

  delete(sink: WatchSink<Chunk>): void {
    this.#sinks.delete(sink)
    this.#list = undefined
    if (this.#sinks.size === 0) this.#backlog.note(this, 0)
  }

  unread(): number {
    let most = 0
    for (const sink of this.#sinks) most = Math.max(most, sink.buffered())
    return most
  }

  /** `decoded`: what the event's current object, or the last state of a removed one, says; if the writer has it at hand. */
  push(event: CacheEvent, decoded?: KubeObject): void {
    const record = recordOf(event, this.selection, decoded)
    if (record) this.pushRecord(record)
  }

  pushRecord(record: WatchRecord): void {
    this.#pending.push(record)
    this.#schedule()
  }

  /** Ends all watches, each after what is pending. */
  end(): void {
    this.#deliverAll()
    for (const sink of this.#sinks) sink.end()
    this.#sinks.clear()
    this.#list = undefined
    this.#backlog.note(this, 0)
  }

  /** Pending events belong to the present watchers. */
  seal(): void {
    if (this.#pending.length === 0) return
    if (this.#sinks.size > 0) {
      this.#list ??= [...this.#sinks]
      this.#deliveries.push({ chunk: this.#encoder.encode(this.#pending), sinks: this.#list, next: 0, unread: 0 })
    }
    this.#pending = []
  }

  deliver(atMost: number): number {
    let left = atMost
    for (let delivery = this.#deliveries[0]; delivery; delivery = this.#deliveries[0]) {
      const { sinks } = delivery
      for (; delivery.next < sinks.length && left > 0; left--) this.#write(sinks[delivery.next++]!, delivery)
      if (delivery.next < sinks.length) return 0
      this.#deliveries.shift()
      this.#backlog.note(this, this.#sinks.size === 0 ? 0 : delivery.unread)
    }
    return left
  }

  /** Local watchers work when they see an event. No answer waits for that. */
  #schedule(): void {
    if (!this.#encoder.isLocal) eventRounds.add(this)
    else if (this.#pending.length === 1) setImmediate(() => this.#deliverAll())
  }

  #deliverAll(): void {
    this.seal()
    this.deliver(Number.POSITIVE_INFINITY)
  }

  #write(sink: WatchSink<Chunk>, delivery: Delivery<Chunk>): void {
    const unread = sink.buffered()
    if (unread > this.#backlog.allowance) {
      this.delete(sink)
      this.#backlog.cut(sink, unread)
    } else {
      sink.write(delivery.chunk)
      if (unread > delivery.unread) delivery.unread = unread
    }
  }
}
