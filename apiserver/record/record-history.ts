import { type CachedObject, type CacheEvent, recordOf, type WatchCache, type WatchRecord } from '../watchcache/index.ts'

/** These limits bound the past that a reader receives; the newest changes are kept. */
const historyLimits: HistoryLimits = { changes: 10_000, bytes: 16 * 1024 * 1024 }

interface HistoryLimits {
  changes: number
  bytes: number
}

export interface PastChange {
  cache: WatchCache
  record: Exclude<WatchRecord, { type: 'BOOKMARK' }>
  atMs: number
}

/** Holds what the watch caches still remember: the objects as they were at a moment, and each change since then. */
export interface History {
  /** Tells when the first change happened; undefined if there is none. */
  startMs: number | undefined
  states: { cache: WatchCache; items: readonly CachedObject[] }[]
  /** Lists changes in the order in which they were stored. */
  changes: PastChange[]
  revision: number
}

/** Nothing is kept for this: it is read from what watch caches remember for watches that resume. */
export function historyOf(caches: readonly WatchCache[], limits = historyLimits): History {
  const revision = Math.min(...caches.map((cache) => cache.revision()))
  const oldest = Math.max(...caches.map((cache) => cache.timedRevision()))
  const { events, since } = newest(caches, Math.min(oldest, revision), revision, limits)
  const changes = events.flatMap(({ cache, event }): PastChange[] => {
    const record = recordOf(event, selectionOf(cache))
    return record && record.type !== 'BOOKMARK' ? [{ cache, record, atMs: event.atMs }] : []
  })
  const states = caches.map((cache) => ({
    cache,
    items: cache.list(selectionOf(cache), { revision: since }).items,
  }))
  return { startMs: changes[0]?.atMs, states, changes, revision }
}

export const selectionOf = ({ prefix }: WatchCache) => ({ prefix, labels: [], fields: [] })

interface Found {
  cache: WatchCache
  event: CacheEvent
}

/** The newest events of all collections that are within the limits, oldest first, and the revision before them. */
function newest(
  caches: readonly WatchCache[],
  oldest: number,
  until: number,
  limits: HistoryLimits,
): { events: Found[]; since: number } {
  const logs = caches.map((cache) => {
    const events = cache.eventsAfter(oldest).filter((event) => event.revision <= until)
    return { cache, events, next: events.length - 1 }
  })
  const found: Found[] = []
  let bytes = 0
  for (;;) {
    let latest: (typeof logs)[number] | undefined
    for (const log of logs) if (log.next >= 0 && revisionOf(log) > (latest ? revisionOf(latest) : -1)) latest = log
    if (!latest) return { events: found.reverse(), since: oldest }
    const event = latest.events[latest.next--]!
    bytes += (event.current ?? event.previous)?.length ?? 0
    // Changes of one revision stay together.
    if (bytes > limits.bytes || found.length >= limits.changes)
      return { events: found.filter((one) => one.event.revision > event.revision).reverse(), since: event.revision }
    found.push({ cache: latest.cache, event })
  }
}

const revisionOf = ({ events, next }: { events: readonly CacheEvent[]; next: number }): number => events[next]!.revision
