import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import { keyPrefix } from '../../../registry/keys.ts'
import { lengthOf } from '../../../storage/packed-text.ts'
import type { CachedObject } from '../../../watchcache/cached-object.ts'
import type { WatchCache } from '../../../watchcache/watch-cache.ts'
import { type CacheEvent, recordOf, type WatchRecord } from '../../../watchcache/watch-record.ts'

/** These limits bound the past that a reader receives; the newest changes are kept. */
export const historyLimits: HistoryLimits = { changes: 10_000, bytes: 16 * 1024 * 1024 }

interface HistoryLimits {
  changes: number
  bytes: number
}

export interface HistoryCollection {
  definition: ResourceDefinition
  cache: WatchCache
}

export interface PastChange {
  definition: ResourceDefinition
  record: Exclude<WatchRecord, { type: 'BOOKMARK' }>
  atMs: number
}

/** Holds what the watch caches still remember: the objects as they were at a moment, and each change since then. */
export interface History {
  /** Of the first change; undefined if there is none. */
  startMs: number | undefined
  states: { definition: ResourceDefinition; items: readonly CachedObject[] }[]
  /** In the order in which they were stored. */
  changes: PastChange[]
  /** What happened until here is in the history. */
  revision: number
}

/** Nothing is kept for this: it is read from what watch caches remember for watches that resume. */
export function historyOf(collections: readonly HistoryCollection[], limits = historyLimits): History {
  const revision = Math.min(...collections.map(({ cache }) => cache.revision()))
  const oldest = Math.max(...collections.map(({ cache }) => cache.timedRevision()))
  const { events, since } = newest(collections, Math.min(oldest, revision), revision, limits)
  const changes = events.flatMap(({ definition, event }): PastChange[] => {
    const record = recordOf(event, selectionOf(definition))
    return record && record.type !== 'BOOKMARK' ? [{ definition, record, atMs: event.atMs }] : []
  })
  const states = collections.map(({ definition, cache }) => ({
    definition,
    items: cache.list(selectionOf(definition), { revision: since }).items,
  }))
  return { startMs: changes[0]?.atMs, states, changes, revision }
}

export const selectionOf = (definition: ResourceDefinition) => ({
  ...{ prefix: keyPrefix(definition), labels: [], fields: [] },
})

interface Found {
  definition: ResourceDefinition
  event: CacheEvent
}

/** The newest events of all collections that are within the limits, oldest first, and the revision before them. */
function newest(
  collections: readonly HistoryCollection[],
  oldest: number,
  until: number,
  limits: HistoryLimits,
): { events: Found[]; since: number } {
  const logs = collections.map(({ definition, cache }) => {
    const events = cache.eventsAfter(oldest).filter((event) => event.revision <= until)
    return { definition, events, next: events.length - 1 }
  })
  const found: Found[] = []
  let bytes = 0
  for (;;) {
    let latest: (typeof logs)[number] | undefined
    for (const log of logs) if (log.next >= 0 && revisionOf(log) > (latest ? revisionOf(latest) : -1)) latest = log
    if (!latest) return { events: found.reverse(), since: oldest }
    const event = latest.events[latest.next--]!
    bytes += lengthOf(event.current ?? event.previous)
    // Changes of one revision stay together.
    if (bytes > limits.bytes || found.length >= limits.changes)
      return { events: found.filter((one) => one.event.revision > event.revision).reverse(), since: event.revision }
    found.push({ definition: latest.definition, event })
  }
}

const revisionOf = ({ events, next }: { events: readonly CacheEvent[]; next: number }): number => events[next]!.revision
