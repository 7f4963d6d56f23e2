/** These follow the objects of a kind: the cache that remembers them, a watch on it, and what the watch tells. */
export type { CachedObject } from './cached-object.ts'
export { Watch } from './watch.ts'
export type { WatchCache } from './watch-cache.ts'
export { type CacheEvent, recordOf, type WatchRecord } from './watch-record.ts'
export type { WatchEncoder, WatchSink } from './watch-sink.ts'
