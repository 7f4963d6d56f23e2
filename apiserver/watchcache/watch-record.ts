import type { KubeObject } from '../../shared/api/types.ts'
import type { CachedObject } from './cached-object.ts'
import { isSelected, type Selection } from './selection.ts'

/** Describes a change of a resource, before the selectors of watches apply. */
export interface CacheEvent {
  readonly key: string
  readonly revision: number
  readonly current: CachedObject | undefined
  readonly previous: CachedObject | undefined
  /** The last state of a deleted object, if that state was never stored. */
  readonly last?: CachedObject
  /**
   * The time at which the change arrived, in milliseconds since the epoch; 0 if it happened before this server knew the
   * resource.
   */
  readonly atMs: number
}

/** Describes one event as a watcher sees it. */
export type WatchRecord =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
      readonly object: CachedObject
      /** Differs from the object's own for DELETED, which shows the last state. */
      readonly revision: number
      /** The parsed value, if the writer had it: local watchers need not parse it. It must not be changed. */
      readonly decoded?: KubeObject
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number; readonly initialEventsEnd?: boolean }

/**
 * Returns the event for a watcher that sees only the selected objects; undefined if it sees none. An object that leaves
 * the selection is DELETED for the watcher.
 */
export function recordOf(
  { revision, current, previous, last }: CacheEvent,
  selection: Selection,
  decoded?: KubeObject,
): WatchRecord | undefined {
  const is = current !== undefined && isSelected(selection, current)
  const was = previous !== undefined && isSelected(selection, previous)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: current, revision, decoded }
  if (!was) return undefined
  return { type: 'DELETED', object: last ?? previous, revision, decoded: current ? undefined : decoded }
}
