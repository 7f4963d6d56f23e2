import { EventLog, type EventLogLimits } from './event-log.ts'
import { lengthOf, PackedText } from './packed-text.ts'
import { overwritten, rewind } from './rewind.ts'
import { SortedMap } from './sorted-map.ts'
import type { Entry, ListOptions, ListResult, StorageEvent, StorageWatch, WatchOptions } from './storage.ts'

/** A write that has happened: the key's new value, or none when it is gone. */
export interface Change {
  key: string
  revision: number
  value?: string
  /** See {@link PutOptions.parts}. */
  parts?: readonly string[]
  /** See {@link StorageEvent.lastValue}. */
  lastValue?: string
}

/** Watch caches keep a history of their own; this one serves readers of the store itself. */
export const defaultHistory: EventLogLimits = { events: 10_000, bytes: 16 * 1024 * 1024 }

/**
 * Holds the state of a store: its entries, their recent history, and its watchers. Engines decide which changes happen,
 * and when.
 */
export class StoreState {
  readonly #entries = new SortedMap<Entry>()
  readonly #log: EventLog<StorageEvent>
  /** Maps a resource to the watches of its keys; the empty text to watches of more than one resource. */
  readonly #watches = new Map<string, Set<WatchOptions>>()
  #revision: number

  readonly #publish: ((revision: number) => void) | undefined

  /**
   * `oldest`: the revision from which on everything is known. `publish` receives the revision of each write before
   * anyone is told of the write.
   */
  constructor(history: EventLogLimits, oldest = 1, publish?: (revision: number) => void) {
    this.#publish = publish
    this.#log = new EventLog<StorageEvent>(history, oldest, sizeOf)
    this.#revision = oldest
  }

  get revision(): number {
    return this.#revision
  }

  get oldestRevision(): number {
    return this.#log.compacted
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  keys(): string[] {
    return this.#entries.range('').map(({ key }) => key)
  }

  list(options: ListOptions): ListResult {
    const { prefix, startAfter, limit, revision = this.#revision } = options
    const since = revision < this.#revision ? this.#log.after(revision) : []
    const found = rewind(this.#entries.range(prefix, startAfter), overwritten<Entry>(since, options))
    const selected = limit === undefined ? found : found.slice(0, limit)
    const shown = Math.min(revision, this.#revision)
    return { entries: selected, revision: shown, remaining: found.length - selected.length }
  }

  /** Takes in what was there before everything that is known to have happened. */
  restore({ key, value, revision }: Change): void {
    if (value === undefined) this.#entries.delete(key)
    else this.#entries.set(new PackedEntry({ key, value, revision }))
  }

  /** Makes writes true, in the order of their revisions, and tells the watches. */
  apply(changes: readonly Change[]): void {
    const events = changes.map((change) => this.#take(change))
    this.#publish?.(this.#revision)
    const resources = events.length === 1 ? [resourceOf(events[0]!.key)] : resourcesOf(events)
    for (const resource of resources) this.#tell(resource, events)
    if (!resources.includes('')) this.#tell('', events)
  }

  /** Nothing more was written up to `revision`. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
  }

  /** Makes `entries`, in the order of their revisions, all that is true at `revision`: what was between is unknown. */
  replace(entries: readonly Entry[], revision: number): void {
    const kept = new Set(entries.map(({ key }) => key))
    const gone = this.keys()
      .filter((key) => !kept.has(key))
      .map((key) => ({ key, revision }))
    const changed = entries.filter((entry) => this.#entries.get(entry.key)?.revision !== entry.revision)
    this.apply([...changed, ...gone])
    this.reach(revision)
    this.#log.compact(this.#revision)
    for (const watches of this.#watches.values()) for (const watch of watches) watch.onGap?.(this.#revision)
  }

  #tell(resource: string, events: StorageEvent[]): void {
    for (const watch of this.#watches.get(resource) ?? []) {
      const isWanted = ({ key }: StorageEvent): boolean => key.startsWith(watch.prefix)
      const wanted = events.every(isWanted) ? events : events.filter(isWanted)
      if (wanted.length > 0) watch.onEvents(wanted)
    }
  }

  watch(options: WatchOptions): StorageWatch {
    if (options.afterRevision !== undefined) {
      const missed = this.#log.after(options.afterRevision).filter(({ key }) => key.startsWith(options.prefix))
      if (missed.length > 0) options.onEvents(missed.map((event) => ({ ...event, value: event.entry?.value })))
    }
    const resource = resourceOf(options.prefix)
    const watches = this.#watches.get(resource) ?? new Set()
    this.#watches.set(resource, watches.add(options))
    return { close: () => void watches.delete(options) }
  }

  /** The log has no use for the value at its full length. */
  #remember(event: StorageEvent): StorageEvent {
    this.#log.append(event)
    return event
  }

  compact(below: number): void {
    this.#log.compact(Math.min(below, this.#revision))
  }

  close(): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.onEnd?.()
    this.#watches.clear()
    this.#entries.clear()
  }

  #take({ key, revision, value, parts, lastValue }: Change): StorageEvent {
    const previous = this.#entries.get(key)
    this.#revision = revision
    if (value === undefined) this.#entries.delete(key)
    else this.#entries.set(new PackedEntry({ key, value, parts, revision }))
    const entry = this.#entries.get(key)
    if (!entry) return this.#remember({ type: 'delete', key, revision, previous, lastValue })
    this.#remember({ type: 'put', key, revision, entry, previous })
    return { type: 'put', key, value, revision, entry, previous }
  }
}

/** Keeps the value of a key packed, since the values of many keys have much in common. */
class PackedEntry implements Entry {
  readonly key: string
  readonly revision: number
  readonly #text: PackedText

  constructor({ key, value, parts, revision }: Entry) {
    this.key = key
    this.revision = revision
    this.#text = new PackedText(value, parts)
  }

  get value(): string {
    return this.#text.toString()
  }

  get parts(): readonly string[] {
    return this.#text.parts
  }
}

const resourcesOf = (events: readonly StorageEvent[]): string[] => [
  ...new Set(events.map(({ key }) => resourceOf(key))),
]

/** `/registry/core/pods/` of `/registry/core/pods/default/web`; empty for less than that. */
function resourceOf(key: string): string {
  let end = 0
  for (let slashes = 0; slashes < 4; slashes++) {
    end = key.indexOf('/', end) + 1
    if (end === 0) return ''
  }
  return key.slice(0, end)
}

/** The previous value counts, for only the log still holds it. */
const sizeOf = (event: StorageEvent): number => lengthOf(event.previous) + event.key.length + 100
