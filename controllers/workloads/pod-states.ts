import { hasEnded } from '../../shared/api/pod-phase.ts'
import type { Pod, PodCondition } from '../../shared/api/types.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'

/** Runs, or will: neither ended nor being deleted. */
export const isActive = (pod: Pod): boolean => !hasEnded(pod) && !pod.metadata.deletionTimestamp

/** Being deleted, and not ended yet: what `terminatingReplicas` counts. */
export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod)

const readyCondition = ({ status }: Pod): PodCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')

export const isReady = (pod: Pod): boolean => readyCondition(pod)?.status === 'True'

/** Milliseconds since the epoch from which on a ready pod has been so; undefined while it is not. */
export function readySinceMs(pod: Pod): number | undefined {
  const condition = readyCondition(pod)
  return condition?.status === 'True' ? parseTime(condition.lastTransitionTime ?? '') : undefined
}

/** Milliseconds until a pod has been ready for so long: 0 when it is available, undefined while it is not ready. */
function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number | undefined {
  const sinceMs = readySinceMs(pod)
  if (sinceMs === undefined) return undefined
  return minReadySeconds === 0 ? 0 : Math.max(0, sinceMs + minReadySeconds * 1000 - nowMs)
}

export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean =>
  availableInMs(pod, minReadySeconds, nowMs) === 0

/** Milliseconds until the next of the pods becomes available; undefined where none is about to. */
export function nextAvailableInMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  const waits = pods.map((pod) => availableInMs(pod, minReadySeconds, nowMs) ?? 0).filter((ms) => ms > 0)
  return waits.length > 0 ? Math.min(...waits) : undefined
}
