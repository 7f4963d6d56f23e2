import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { Unconverted } from '../kind/unconverted.ts'
import { EventLog, type EventLogLimits } from '../storage/event-log.ts'
import { overwritten, rewind } from '../storage/rewind.ts'
import { SortedMap } from '../storage/sorted-map.ts'
import type { Entry, Storage, StorageEvent, StorageWatch } from '../storage/storage.ts'
import { CachedObject } from './cached-object.ts'
import { type Forms, HeldEvents } from './held-events.ts'
import { type OwnRemoval, OwnWrites } from './own-writes.ts'
import { isSelected, type Selection, selectedName, selectionKey, selectsAll } from './selection.ts'
import { WatchBacklog } from './watch-backlog.ts'
import { WatchGroup } from './watch-group.ts'
import { WatchGroups } from './watch-groups.ts'
import type { CacheEvent } from './watch-record.ts'
import type { WatchEncoder, WatchSink } from './watch-sink.ts'

/** Maps keys that were written since to their objects before; undefined: there was none. */
type Before = ReadonlyMap<string, CachedObject | undefined>

/** A page looks at so many objects at once, at least: of few that are selected it sees many others. */
const minWindow = 500
const history: EventLogLimits = { events: 20_000, bytes: 32 * 1024 * 1024 }

interface WatchCacheOptions {
  /** Counts for all watches. Default: for those of this resource alone. */
  backlog?: WatchBacklog
  /** Milliseconds since the epoch, for the times of changes. */
  now?(): number
}

export interface CachedList {
  items: CachedObject[]
  revision: number
  /** Counts the objects after the last one shown, selected or not. */
  remaining: number
}

/**
 * All objects of one resource, in key order, with their recent history: every read is served from here, and every
 * watcher hears from here. The store delivers each write before the writer knows of it, so a read is never stale.
 */
export class WatchCache {
  readonly definition: ResourceDefinition
  readonly prefix: string
  /** Rises with each change: what is derived from the objects may be kept until then. */
  changes = 0
  readonly #storage: Storage
  readonly #backlog: WatchBacklog
  readonly #objects = new SortedMap<CachedObject>()
  readonly #history: EventLog<CacheEvent>
  readonly #groups = new WatchGroups()
  readonly #watch: StorageWatch
  /** Objects that are not converted to this version yet. */
  readonly #unconverted = new Map<string, Entry>()
  #converting: Promise<void> | undefined
  #held: HeldEvents | undefined
  #privateGroups = 0
  readonly #own = new OwnWrites()
  readonly #now: () => number
  /** Holds the revision of the load. What an engine remembers from before it has no time. */
  #loadedRevision = Number.POSITIVE_INFINITY

  constructor(
    definition: ResourceDefinition,
    prefix: string,
    storage: Storage,
    { backlog = new WatchBacklog(), now = () => 0 }: WatchCacheOptions = {},
  ) {
    this.#now = now
    this.#backlog = backlog
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
        for (const event of events) this.#receive(event)
      },
      onEnd: () => this.#endAll(),
      // Watchers list again: what they would have been told is not known.
      onGap: (revision) => {
        this.#history.compact(revision)
        this.#endAll()
      },
    })
  }

  /** Takes in what the store held before. */
  async load(): Promise<void> {
    const { entries } = await this.#storage.list({ prefix: this.prefix })
    for (const entry of entries) {
      if (!this.#objects.get(entry.key)) this.#keep(this.#cached(entry), entry)
    }
    this.#loadedRevision = this.#storage.revision()
    this.changes++
  }

  /**
   * Resolves when all objects can be read; at once but where a webhook has to convert them first. Rejects with a
   * StatusError.
   */
  readable(): void | Promise<void> {
    const applied = this.#held?.applied()
    return applied ? applied.then(() => this.#allConverted()) : this.#allConverted()
  }

  /** The revision that reads show. */
  revision(): number {
    return this.#held?.revision ?? this.#storage.revision()
  }

  get size(): number {
    return this.#objects.size
  }

  /** Returns the object as it is, or as it was at `revision`. Throws CompactedError if that is forgotten. */
  get(key: string, revision?: number): CachedObject | undefined {
    const overwritten =
      revision === undefined ? undefined : this.#history.after(revision).find((event) => event.key === key)
    return overwritten ? overwritten.previous : this.#objects.get(key)
  }

  /**
   * As the store has it, where the cache waits for others to be converted: what a write begins with that has lost
   * against one of another server. Rejects with a StatusError.
   */
  async newest(key: string): Promise<CachedObject | undefined> {
    if (this.#held?.revision === undefined) {
      await this.readable()
      return this.get(key)
    }
    const entry = await this.#storage.get(key)
    if (!entry) return undefined
    const [form = entry.value] = (await this.definition.custom?.webhook?.present([entry.value])) ?? []
    return this.#cached(entry, undefined, new Map([[entry.value, form]]))
  }

  /**
   * Returns the selected objects after `startAfter`, as they are or as they were at `revision`. Throws CompactedError
   * if that is forgotten.
   */
  list(selection: Selection, options: { startAfter?: string; revision?: number; limit?: number } = {}): CachedList {
    const { startAfter, revision = this.revision(), limit = 0 } = options
    const single = startAfter === undefined && this.#selectedKey(selection)
    if (single) {
      const object = this.get(single, options.revision)
      return { items: object && isSelected(selection, object) ? [object] : [], remaining: 0, revision }
    }
    const { prefix } = selection
    const since = revision < this.revision() ? this.#history.after(revision) : []
    const before = overwritten<CachedObject>(since, { prefix, startAfter })
    if (limit > 0) return { ...this.#page(selection, { limit, startAfter, before }), revision }
    const all = rewind(this.#objects.range(prefix, startAfter), before)
    const items = selectsAll(selection) ? all : all.filter((object) => isSelected(selection, object))
    return { items, remaining: 0, revision }
  }

  /** The key of the one object that can be selected: by its name, and within a namespace where there are any. */
  #selectedKey(selection: Selection): string | undefined {
    const { namespaced } = this.definition
    const name = !namespaced || selection.prefix !== this.prefix ? selectedName(selection) : undefined
    return name && selection.prefix + name
  }

  /** A page of what was there with the values of `before`. Objects behind it are counted, and not looked at. */
  #page(
    selection: Selection,
    { limit, startAfter, before }: { limit: number; startAfter?: string; before: Before },
  ): Omit<CachedList, 'revision'> {
    const { prefix } = selection
    const items: CachedObject[] = []
    const size = Math.max(limit, minWindow) + before.size
    for (let from = startAfter; ; ) {
      const window = this.#objects.range(prefix, from, size)
      const to = window.length === size ? window.at(-1)!.key : undefined
      for (const object of rewind(window, between(before, from, to))) {
        if (!isSelected(selection, object)) continue
        if (items.push(object) === limit) return { items, remaining: this.#countAfter(object.key, prefix, before) }
      }
      if (to === undefined) return { items, remaining: 0 }
      from = to
    }
  }

  #countAfter(key: string, prefix: string, before: Before): number {
    let count = this.#objects.count(prefix, key)
    for (const [changed, then] of before)
      if (changed > key) count += Number(then !== undefined) - Number(this.#objects.get(changed) !== undefined)
    return count
  }

  /** Changes after `revision`, oldest first. Throws CompactedError when they are forgotten. */
  eventsAfter(revision: number): CacheEvent[] {
    return this.#history.after(revision)
  }

  /** Changes after this revision are remembered, with their times. */
  timedRevision(): number {
    return Math.max(this.#history.compacted, this.#loadedRevision)
  }

  /** The revision before which nothing is remembered. */
  oldestRevision(): number {
    return this.#history.compacted
  }

  /** Says what a write's value means, to spare parsing it again when the engine tells of it. */
  expect(key: string, value: string, object: KubeObject): void {
    this.#own.begin(key, { value, object })
  }

  /** Says what the last state of an object that is to be removed means, for the same purpose. */
  expectRemoval(key: string, removal: OwnRemoval): void {
    this.#own.begin(key, removal)
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
      group = new WatchGroup({ selection, bookmarks }, encoder, this.#backlog)
      this.#groups.add(key, group as unknown as WatchGroup<never>)
    }
    const joined = group
    joined.add(sink)
    return () => {
      joined.delete(sink)
      // A watcher that leaves twice may find a newer group here, of later watchers.
      if (joined.size === 0) this.#groups.delete(key, joined as unknown as WatchGroup<never>)
    }
  }

  /** Tells watchers who asked for it how far they have seen, so that they can resume from there. */
  sendBookmarks(): void {
    const revision = this.revision()
    for (const group of this.#groups) if (group.bookmarks) group.pushRecord({ type: 'BOOKMARK', revision })
  }

  close(): void {
    this.#watch.close()
    this.#endAll()
  }

  #receive(event: StorageEvent): void {
    const written = this.#own.end(event)
    if (this.#held?.revision === undefined && this.#unasked(event).length === 0) {
      this.#apply(event, written)
    } else {
      this.#held ??= this.#holding()
      this.#held.hold(event, written)
    }
  }

  #apply(
    { type, key, value, revision, entry, lastValue, previous: before }: StorageEvent,
    written?: KubeObject,
    forms?: Forms,
  ): void {
    const previous = this.#known(key, before, forms)
    let current: CachedObject | undefined
    let decoded: KubeObject | undefined
    if (type === 'put') {
      const stored = entry ?? { key, value: value!, revision }
      current = this.#cached(stored, written, forms)
      if (current.isAsStored) decoded = written
      this.#keep(current, stored)
    } else {
      this.#objects.delete(key)
      this.#unconverted.delete(key)
    }
    this.changes++
    const last =
      lastValue === undefined ? undefined : this.#cached({ key, value: lastValue, revision }, undefined, forms)
    const atMs = revision > this.#loadedRevision ? this.#now() : 0
    const event: CacheEvent = { key, revision, current, previous, last, atMs }
    this.#history.append(event)
    // Watchers list again, and get the reason why nothing can be shown.
    if (current?.isUnconverted) this.#endAll()
    if (!current && (last ?? previous)?.isAsStored) decoded = written
    for (const group of this.#groups.concernedBy(event)) group.push(event, decoded)
  }

  #known(key: string, before: Entry | undefined, forms?: Forms): CachedObject | undefined {
    const known = this.#objects.get(key) ?? (before && this.#cached(before))
    const form = known?.isUnasked ? forms?.get(known.stored.value) : undefined
    return form === undefined ? known : known!.showing(form)
  }

  /** Values of the event that another server has written, and which no webhook has converted yet. */
  #unasked({ key, value, lastValue, revision, previous }: StorageEvent): string[] {
    const { custom } = this.definition
    if (!custom?.webhook) return none
    const known = this.#objects.get(key) ?? (previous && this.#cached(previous))
    const texts = [value, lastValue, known?.isUnasked ? known.stored.value : undefined]
    return texts.filter((text): text is string => {
      const shown = text === undefined ? undefined : custom.present({ value: text, revision })
      return shown instanceof Unconverted && shown.isUnasked
    })
  }

  #holding(): HeldEvents {
    return new HeldEvents({
      valuesOf: (event) => this.#unasked(event),
      convert: async (values) => (await this.definition.custom?.webhook?.present(values)) ?? values,
      apply: (event, written, forms) => this.#apply(event, written, forms),
      fail: () => {
        this.#history.compact(this.revision())
        this.#endAll()
      },
    })
  }

  #cached(entry: Entry, object?: KubeObject, forms?: Forms): CachedObject {
    const { custom, conversion } = this.definition
    const shown = custom
      ? (forms?.get(entry.value) ?? custom.present(entry))
      : conversion && (() => conversion.present(entry))
    return new CachedObject(this.definition, { entry, shown, object: shown === undefined ? object : undefined })
  }

  #keep(object: CachedObject, entry: Entry): void {
    this.#objects.set(object)
    if (object.isUnconverted) this.#unconverted.set(entry.key, entry)
    else if (this.#unconverted.size > 0) this.#unconverted.delete(entry.key)
  }

  #allConverted(): void | Promise<void> {
    if (this.#unconverted.size === 0) return
    this.#converting ??= this.#convert().finally(() => {
      this.#converting = undefined
    })
    return this.#converting
  }

  async #convert(): Promise<void> {
    const entries = [...this.#unconverted.values()]
    const values = entries.map(({ value }) => value)
    const forms = (await this.definition.custom?.webhook?.present(values)) ?? values
    for (const [index, entry] of entries.entries()) {
      // It may have been written or deleted meanwhile.
      if (this.#unconverted.get(entry.key) !== entry) continue
      this.#unconverted.delete(entry.key)
      this.#objects.set(new CachedObject(this.definition, { entry, shown: forms[index] }))
    }
  }

  #endAll(): void {
    for (const group of this.#groups) group.end()
    this.#groups.clear()
  }
}

const none: string[] = []

const sizeOf = ({ previous, key }: CacheEvent): number => (previous?.length ?? 0) + key.length + 100

/** The values of the keys after `from`, up to `to`. */
const between = (before: Before, from = '', to?: string): Before =>
  new Map([...before].filter(([key]) => key > from && (to === undefined || key <= to)))
