import { nextInt64 } from '../../../shared/api/json/exact-json.ts'
import { goDurationMs } from '../../../shared/api/quantities/go-duration-ms.ts'
import type { DeleteOptions, KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { finalizersFor } from './finalizers.ts'

export type DeleteDecision =
  /**
   * The object is removed at once. `object` is its last state; if `written` is true, watchers see this state first, as
   * upstream shows the end of a pod.
   */
  | { outcome: 'remove'; object: KubeObject; written: boolean }
  /** The object stays, marked for deletion. */
  | { outcome: 'mark'; object: KubeObject }
  /** The object was marked before, and this DELETE changes nothing. */
  | { outcome: 'pending'; object: KubeObject }

export interface DeleteRequest {
  options: DeleteOptions
  /** The reason is validated; undefined if the request gives none or the feature is off. */
  reason: string | undefined
  nowMs: number
}

/**
 * Decides as upstream's BeforeDelete and the code after it do, and sets the reason in the same write. `current` is not
 * changed.
 */
export function decideDelete(
  definition: ResourceDefinition,
  current: KubeObject,
  { options, reason, nowMs }: DeleteRequest,
): DeleteDecision {
  const object: KubeObject = { ...current, metadata: { ...current.metadata } }
  const { metadata } = object
  const gracePeriodSeconds = clampGrace(definition.strategy.checkGracefulDelete?.(current, options))
  const graceful = gracePeriodSeconds !== undefined
  const first = metadata.deletionTimestamp === undefined
  if (reason !== undefined) metadata.reason = reason
  metadata.finalizers = finalizersFor(definition, current, options)

  const { deletion } = definition.strategy
  if (deletion && first) {
    metadata.deletionTimestamp = toTime(nowMs)
    deletion.begin(object)
    return { outcome: 'mark', object }
  }
  if (deletion?.isHeld(current)) return { outcome: 'pending', object: current }
  if (graceful && first) {
    mark(object, nowMs + goDurationMs(gracePeriodSeconds), gracePeriodSeconds)
    return gracePeriodSeconds === 0 && !metadata.finalizers
      ? { outcome: 'remove', object, written: true }
      : { outcome: 'mark', object }
  }
  if (graceful && (current.metadata.deletionGracePeriodSeconds ?? 0) !== 0)
    return shorten(object, options, nowMs, current)
  if (!metadata.finalizers) {
    // Nothing is written before, so the policy leaves no trace.
    metadata.finalizers = current.metadata.finalizers
    return { outcome: 'remove', object, written: false }
  }
  if (first) mark(object, nowMs, 0)
  else metadata.deletionGracePeriodSeconds = 0
  return changed(object, current) ? { outcome: 'mark', object } : { outcome: 'pending', object: current }
}

/**
 * Shortens the rest of the grace period. A later DELETE that does not shorten it leaves the finalizers, too, as they
 * are.
 */
function shorten(object: KubeObject, options: DeleteOptions, nowMs: number, current: KubeObject): DeleteDecision {
  const { metadata } = object
  const granted = clampGrace(metadata.deletionGracePeriodSeconds) ?? 0
  let asked = clampGrace(options.gracePeriodSeconds)
  if (asked !== undefined && asked < granted) {
    const deadlineMs = Date.parse(metadata.deletionTimestamp!) - goDurationMs(granted) + goDurationMs(asked)
    if (deadlineMs < nowMs && asked !== 0) asked = 1
    metadata.deletionTimestamp = toTime(Math.max(deadlineMs, nowMs))
    metadata.deletionGracePeriodSeconds = asked
    if (asked === 0 && !metadata.finalizers) return { outcome: 'remove', object, written: true }
  } else metadata.finalizers = current.metadata.finalizers
  return changed(object, current) ? { outcome: 'mark', object } : { outcome: 'pending', object: current }
}

function mark({ metadata }: KubeObject, deadlineMs: number, gracePeriodSeconds: number): void {
  metadata.deletionTimestamp = toTime(deadlineMs)
  metadata.deletionGracePeriodSeconds = gracePeriodSeconds
  if (metadata.generation) metadata.generation = nextInt64(metadata.generation)
}

const clampGrace = (seconds: number | undefined): number | undefined =>
  seconds !== undefined && seconds < 0 ? 1 : seconds

const watched = ['deletionTimestamp', 'deletionGracePeriodSeconds', 'reason'] as const

const changed = ({ metadata }: KubeObject, { metadata: before }: KubeObject): boolean =>
  watched.some((field) => metadata[field] !== before[field]) ||
  (metadata.finalizers ?? []).join() !== (before.finalizers ?? []).join()
