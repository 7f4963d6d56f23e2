import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import { EventLog, type EventLogLimits } from '../storage/event-log.ts'
import { lengthOf } from '../storage/packed-text.ts'
import { rewind } from '../storage/rewind.ts'
import { SortedMap } from '../storage/sorted-map.ts'
import type { Entry, Storage, StorageEvent, StorageWatch } from '../storage/storage.ts'
import { CachedObject } from './cached-object.ts'
import { isSelected, type Selection, selectionKey, selectsAll } from './selection.ts'
import { WatchGroup } from './watch-group.ts'
import type { CacheEvent } from './watch-record.ts'
import type { WatchEncoder, WatchSink } from './watch-sink.ts'

const history: EventLogLimits = { events: 20_000, bytes: 32 * 1024 * 1024 }

export interface CachedList {
  items: CachedObject[]
  revision: number
  /** How many objects stand after the last one shown, selected or not. */
  remaining: number
}

/**
 * All objects of one resource, in key order, with their recent history: every read is served from here,
 * and every watcher hears from here. The store delivers each write before the writer knows of it, so a read is never stale.
 */
export class WatchCache {
  readonly definition: ResourceDefinition
  readonly prefix: string
  /** Rises with each change: what is derived from the objects may be kept until then. */
  changes = 0
  readonly #storage: Storage
  readonly #objects = new SortedMap<CachedObject>()
  readonly #history: EventLog<CacheEvent>
  // Each group's chunk type is its own; the cache only pushes events.
  readonly #groups = new Map<string, WatchGroup<never>>()
  readonly #watch: StorageWatch
  #privateGroups = 0
  #written: { value: string; object: KubeObject } | undefined

  constructor(definition: ResourceDefinition, prefix: string, storage: Storage) {
    this.definition = definition
    this.prefix = prefix
    this.#storage = storage
    const afterRevision = storage.oldestRevision()
    this.#history = new EventLog<CacheEvent>(history, afterRevision, sizeOf)
    this.#watch = storage.watch({
      prefix,
      // What an engine remembers from before can be resumed from.
      afterRevision,
      onEvents: (events) => {
        for (const event of events) this.#apply(event)
      },
      onEnd: () => this.#endAll(),
    })
  }

  /** Takes in what the store held before. */
  async load(): Promise<void> {
    const { entries } = await this.#storage.list({ prefix: this.prefix })
    for (const entry of entries) {
      if (!this.#objects.get(entry.key)) this.#objects.set(this.#cached(entry))
    }
    this.changes++
  }

  /** The revision that reads show. */
  revision(): number {
    return this.#storage.revision()
  }

  get size(): number {
    return this.#objects.size
  }

  /** As it is; or as it was at `revision`. Throws CompactedError when that is forgotten. */
  get(key: string, revision?: number): CachedObject | undefined {
    const overwritten =
      revision === undefined ? undefined : this.#history.after(revision).find((event) => event.key === key)
    return overwritten ? overwritten.previous : this.#objects.get(key)
  }

  /** What is selected now, after `startAfter`; or as it was at `revision`. Throws CompactedError when that is forgotten. */
  list(selection: Selection, options: { startAfter?: string; revision?: number; limit?: number } = {}): CachedList {
    const { startAfter, revision = this.revision(), limit = 0 } = options
    const now = this.#objects.range(selection.prefix, startAfter)
    const then =
      revision < this.revision()
        ? rewind(now, this.#history.after(revision), { prefix: selection.prefix, startAfter })
        : now
    return { ...select(then, selection, limit), revision }
  }

  /** Changes after `revision`, oldest first. Throws CompactedError when they are forgotten. */
  eventsAfter(revision: number): CacheEvent[] {
    return this.#history.after(revision)
  }

  /** The revision before which nothing is remembered. */
  oldestRevision(): number {
    return this.#history.compacted
  }

  /** Says what the next write's value means, to spare parsing it again. */
  expect(value: string, object: KubeObject): void {
    this.#written = { value, object }
  }

  /** `sink` hears of every change from now on. Returns how to leave. */
  join<Chunk>(
    sink: WatchSink<Chunk>,
    options: { selection: Selection; encoder: WatchEncoder<Chunk>; bookmarks: boolean },
  ): () => void {
    const { selection, encoder, bookmarks } = options
    const id = encoder.id ?? `#${this.#privateGroups++}`
    const key = `${id} ${bookmarks} ${selectionKey(selection)}`
    let group = this.#groups.get(key) as unknown as WatchGroup<Chunk> | undefined
    if (!group) {
      group = new WatchGroup(selection, bookmarks, encoder)
      this.#groups.set(key, group as unknown as WatchGroup<never>)
    }
    const joined = group
    joined.add(sink)
    return () => {
      joined.delete(sink)
      // Who leaves twice finds another group here, of those who came in between.
      if (joined.size === 0 && (this.#groups.get(key) as unknown) === joined) this.#groups.delete(key)
    }
  }

  /** Tells watchers who asked for it how far they have seen, so that they can resume from there. */
  sendBookmarks(): void {
    const revision = this.revision()
    for (const group of this.#groups.values()) if (group.bookmarks) group.pushRecord({ type: 'BOOKMARK', revision })
  }

  close(): void {
    this.#watch.close()
    this.#endAll()
  }

  #apply({ type, key, value, revision, entry, lastValue, previous: before }: StorageEvent): void {
    const previous = this.#objects.get(key) ?? (before && this.#cached(before))
    let current: CachedObject | undefined
    let decoded: KubeObject | undefined
    if (type === 'put') {
      const written = this.#written?.value === value ? this.#written?.object : undefined
      current = this.#cached(entry ?? { key, value: value!, revision }, written)
      if (current.isAsStored) decoded = written
      this.#objects.set(current)
    } else {
      this.#objects.delete(key)
    }
    this.#written = undefined
    this.changes++
    const last = lastValue === undefined ? undefined : this.#cached({ key, value: lastValue, revision })
    const event: CacheEvent = { key, revision, current, previous, last }
    this.#history.append(event)
    for (const group of this.#groups.values()) group.push(event, decoded)
  }

  #cached(entry: Entry, object?: KubeObject): CachedObject {
    const shown = (this.definition.custom ?? this.definition.conversion)?.present(entry)
    return new CachedObject(this.definition, { entry, shown, object: shown === undefined ? object : undefined })
  }

  #endAll(): void {
    for (const group of this.#groups.values()) group.end()
    this.#groups.clear()
  }
}

const sizeOf = ({ previous, key }: CacheEvent): number => lengthOf(previous) + key.length + 100

/** The first `limit` (0: all) of the selected. */
function select(
  objects: CachedObject[],
  selection: Selection,
  limit: number,
): { items: CachedObject[]; remaining: number } {
  if (selectsAll(selection)) {
    if (limit === 0 || objects.length <= limit) return { items: objects, remaining: 0 }
    return { items: objects.slice(0, limit), remaining: objects.length - limit }
  }
  const items: CachedObject[] = []
  for (const [index, object] of objects.entries()) {
    if (!isSelected(selection, object)) continue
    items.push(object)
    if (items.length === limit) return { items, remaining: objects.length - index - 1 }
  }
  return { items, remaining: 0 }
}
