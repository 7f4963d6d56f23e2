import type { KubeObject } from '../../shared/api/types.ts'
import type { CachedObject } from './cached-object.ts'
import { isSelected, type Selection } from './selection.ts'

/** A change of a resource, before a watch's selectors. */
export interface CacheEvent {
  readonly key: string
  readonly revision: number
  readonly current: CachedObject | undefined
  readonly previous: CachedObject | undefined
  /** How a deleted object ended, when that was never stored. */
  readonly last?: CachedObject
  /** When it came, in milliseconds since the epoch; 0: before this server knew the resource. */
  readonly atMs: number
}

/** One event as a watcher sees it. */
export type WatchRecord =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
      readonly object: CachedObject
      /** Differs from the object's own for DELETED, which shows the last state. */
      readonly revision: number
      /** The parsed value, if the writer had it: local watchers need not parse it. Never changed. */
      readonly decoded?: KubeObject
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number; readonly initialEventsEnd?: boolean }

/** What a change is to one who sees only the selected objects: leaving the selection is being deleted. */
export function recordOf(
  { revision, current, previous, last }: CacheEvent,
  selection: Selection,
  decoded?: KubeObject,
): WatchRecord | undefined {
  const is = current !== undefined && isSelected(selection, current)
  const was = previous !== undefined && isSelected(selection, previous)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: current, revision, decoded }
  return was ? { type: 'DELETED', object: last ?? previous, revision } : undefined
}
