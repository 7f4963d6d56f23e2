import type { KubeObject } from '../../shared/api/types.ts'
import { type EventSource, eventRounds } from './event-rounds.ts'
import type { Selection } from './selection.ts'
import { type CacheEvent, recordOf, type WatchRecord } from './watch-record.ts'
import type { WatchEncoder, WatchSink } from './watch-sink.ts'

/** Bytes a watcher may leave unread before it is cut off. Chunks are shared, so what waits is held once for all of them. */
export const maxBufferedBytes = 8 * 1024 * 1024

interface Delivery<Chunk> {
  readonly chunk: Chunk
  readonly sinks: readonly WatchSink<Chunk>[]
  next: number
}

/** Watchers that see the same: what happens in one turn of the event loop is encoded once, and the same chunk goes to all of them. */
export class WatchGroup<Chunk> implements EventSource {
  readonly selection: Selection
  readonly bookmarks: boolean
  readonly #encoder: WatchEncoder<Chunk>
  #sinks: readonly WatchSink<Chunk>[] = []
  #pending: WatchRecord[] = []
  #deliveries: Delivery<Chunk>[] = []

  constructor(selection: Selection, bookmarks: boolean, encoder: WatchEncoder<Chunk>) {
    this.selection = selection
    this.bookmarks = bookmarks
    this.#encoder = encoder
  }

  get size(): number {
    return this.#sinks.length
  }

  /** Sees what is pushed from now on. */
  add(sink: WatchSink<Chunk>): void {
    this.seal()
    this.#sinks = [...this.#sinks, sink]
  }

  delete(sink: WatchSink<Chunk>): void {
    this.#sinks = this.#sinks.filter((other) => other !== sink)
  }

  /** `decoded`: what the event's current object says, when the writer has it at hand. */
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
    this.#sinks = []
  }

  /** What is pending belongs to those who are here now. */
  seal(): void {
    if (this.#pending.length === 0) return
    if (this.#sinks.length > 0) {
      this.#deliveries.push({ chunk: this.#encoder.encode(this.#pending), sinks: this.#sinks, next: 0 })
    }
    this.#pending = []
  }

  deliver(atMost: number): number {
    let left = atMost
    for (let delivery = this.#deliveries[0]; delivery; delivery = this.#deliveries[0]) {
      const { chunk, sinks } = delivery
      for (; delivery.next < sinks.length && left > 0; left--) this.#write(sinks[delivery.next++]!, chunk)
      if (delivery.next < sinks.length) return 0
      this.#deliveries.shift()
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

  #write(sink: WatchSink<Chunk>, chunk: Chunk): void {
    if (sink.buffered() > maxBufferedBytes) {
      this.delete(sink)
      sink.abort()
    } else {
      sink.write(chunk)
    }
  }
}
