import { EventLog, type EventLogLimits } from './event-log.ts'
import { type Before, rewind } from './rewind.ts'
import type { Entry, ListOptions, ListResult, Storage, StorageEvent, StorageWatch, WatchOptions } from './storage.ts'

export interface MemoryStorageOptions {
  history?: EventLogLimits
}

/** Watch caches keep a history of their own; this one serves whoever reads the store itself. */
const defaultHistory: EventLogLimits = { events: 10_000, bytes: 16 * 1024 * 1024 }

/** The store of a process that forgets everything when it ends: nothing is quicker, and nothing is left behind. */
export function createMemoryStorage({ history = defaultHistory }: MemoryStorageOptions = {}): Storage {
  const entries = new Map<string, Entry>()
  const log = new EventLog<StorageEvent>(history, 1, sizeOf)
  const watches = new Set<WatchOptions>()
  let revision = 1

  const publish = (event: StorageEvent): void => {
    log.append(event)
    for (const watch of watches) if (event.key.startsWith(watch.prefix)) watch.onEvents([event])
  }

  return {
    revision: () => revision,
    get: async (key) => entries.get(key),
    list: async (options) => list(entries, log, revision, options),
    async put({ key, value, expect }) {
      const current = entries.get(key)
      if (expect === 'absent' ? current : current?.revision !== expect) return { ok: false, current }
      const entry: Entry = { key, value, revision: ++revision }
      entries.set(key, entry)
      publish({ type: 'put', key, value, revision, previous: current })
      return { ok: true, revision }
    },
    async delete({ key, expect, lastValue }) {
      const current = entries.get(key)
      if (!current || (expect !== undefined && current.revision !== expect)) return { ok: false, current }
      entries.delete(key)
      publish({ type: 'delete', key, revision: ++revision, previous: current, lastValue })
      return { ok: true, revision }
    },
    watch(options): StorageWatch {
      if (options.afterRevision !== undefined) {
        const missed = log.after(options.afterRevision).filter((event) => event.key.startsWith(options.prefix))
        if (missed.length > 0) options.onEvents(missed)
      }
      watches.add(options)
      return { close: () => void watches.delete(options) }
    },
    compact: async (below) => log.compact(Math.min(below, revision)),
    async close() {
      for (const watch of watches) watch.onEnd?.()
      watches.clear()
      entries.clear()
    },
  }
}

/** The previous value counts, for only the log still holds it. */
const sizeOf = (event: StorageEvent): number => (event.previous?.value.length ?? 0) + event.key.length + 100

/** Sorts at every call: watch caches list once, and keep the order themselves. */
function list(entries: Map<string, Entry>, log: EventLog<StorageEvent>, now: number, options: ListOptions): ListResult {
  const { prefix, startAfter, limit, revision = now } = options
  const isWanted = ({ key }: Entry): boolean => key.startsWith(prefix) && (startAfter === undefined || key > startAfter)
  const current = [...entries.values()].filter(isWanted).sort((a, b) => (a.key < b.key ? -1 : 1))
  const found = revision < now ? rewind(current, log.after(revision).map(previousEntry), options) : current
  const selected = limit === undefined ? found : found.slice(0, limit)
  return { entries: selected, revision: Math.min(revision, now), remaining: found.length - selected.length }
}

const previousEntry = ({ key, previous }: StorageEvent): Before<Entry> => ({
  key,
  previous: previous && { key, ...previous },
})
