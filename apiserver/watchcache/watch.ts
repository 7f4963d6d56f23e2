import { badRequest, expired } from '../../shared/api/status/status-errors.ts'
import { lengthOf } from '../storage/packed-text.ts'
import { CompactedError } from '../storage/storage.ts'
import type { CachedObject } from './cached-object.ts'
import type { Selection } from './selection.ts'
import type { WatchCache } from './watch-cache.ts'
import { type CacheEvent, recordOf, type WatchRecord } from './watch-record.ts'
import type { WatchEncoder, WatchSink } from './watch-sink.ts'

export interface WatchStart<Chunk> {
  selection: Selection
  encoder: WatchEncoder<Chunk>
  bookmarks: boolean
  /** `'now'`: first every object as ADDED; else only what happened after this revision. */
  after: number | 'now'
  /** No bookmark follows the initial objects. */
  withoutInitialBookmark?: boolean
}

/** About how much is encoded before back-pressure is looked at. */
const batchBytes = 64 * 1024

/**
 * Brings one watcher up to date, then lets it hear what happens: the state or the history first, in batches as quickly
 * as it reads, and what has happened meanwhile, until nothing is left between it and the present.
 */
export class Watch<Chunk> {
  readonly #cache: WatchCache
  readonly #sink: WatchSink<Chunk>
  readonly #start: WatchStart<Chunk>
  #leave: (() => void) | undefined
  #stopped = false

  constructor(cache: WatchCache, sink: WatchSink<Chunk>, start: WatchStart<Chunk>) {
    this.#cache = cache
    this.#sink = sink
    this.#start = start
  }

  /** Resolves when the watcher has caught up. */
  async run(): Promise<void> {
    try {
      const revision = this.#start.after === 'now' ? await this.#sendState() : this.#start.after
      await this.#catchUp(revision)
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error
      this.#sink.end(tooOld(this.#start.after, error.compactedRevision))
    }
  }

  /** The watcher is gone, or must go: no more events. */
  stop(): void {
    this.#stopped = true
    this.#leave?.()
  }

  async #sendState(): Promise<number> {
    const { items, revision } = this.#cache.list(this.#start.selection)
    await this.#send(items, added)
    const { bookmarks, withoutInitialBookmark = false } = this.#start
    if (bookmarks && !withoutInitialBookmark && !this.#stopped) {
      this.#write([{ type: 'BOOKMARK', revision, initialEventsEnd: true }])
    }
    return revision
  }

  async #catchUp(revision: number): Promise<void> {
    let seen = revision
    while (!this.#stopped) {
      if (seen > this.#cache.revision()) return this.#waitFor(seen)
      const events = this.#cache.eventsAfter(seen)
      if (events.length === 0) {
        this.#leave = this.#cache.join(this.#sink, this.#start)
        return
      }
      await this.#send(events, (event) => recordOf(event, this.#start.selection))
      seen = events.at(-1)!.revision
    }
  }

  /** Starts a watch from a future revision: it ignores what happens until then. */
  #waitFor(revision: number): void {
    const { encoder, selection, bookmarks } = this.#start
    const isNew = (record: WatchRecord): boolean => record.revision > revision
    this.#leave = this.#cache.join(this.#sink, {
      selection,
      bookmarks,
      encoder: { encode: (records) => encoder.encode(records.filter(isNew)) },
    })
  }

  async #send<Item extends CachedObject | CacheEvent>(
    items: readonly Item[],
    toRecord: (item: Item) => WatchRecord | undefined,
  ): Promise<void> {
    let records: WatchRecord[] = []
    let bytes = 0
    for (const item of items) {
      const record = toRecord(item)
      if (!record) continue
      records.push(record)
      if (record.type !== 'BOOKMARK') bytes += lengthOf(record.object)
      if (bytes < batchBytes) continue
      this.#write(records)
      records = []
      bytes = 0
      await this.#sink.drained()
      if (this.#stopped) return
    }
    if (records.length > 0) this.#write(records)
  }

  #write(records: readonly WatchRecord[]): void {
    this.#sink.write(this.#start.encoder.encode(records))
  }
}

const added = (object: CachedObject): WatchRecord => ({ type: 'ADDED', object, revision: object.revision })

function tooOld(after: number | 'now', oldest: number) {
  if (after === 'now') return badRequest('the history was lost while the initial state was sent')
  return expired(`too old resource version: ${after} (${oldest})`)
}
