import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { PodCondition } from '../../shared/api/types.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

/** Runs, or will: neither ended nor being deleted. */
export const isActive = (pod: TrimmedPod): boolean => !hasEnded(pod) && !pod.metadata.deletionTimestamp

/** Being deleted, and not ended yet: what `terminatingReplicas` counts. */
export const isTerminating = (pod: TrimmedPod): boolean =>
  pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod)

const readyCondition = ({ status }: TrimmedPod): PodCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')

export const isReady = (pod: TrimmedPod): boolean => readyCondition(pod)?.status === 'True'

/** Milliseconds since the epoch from which on a ready pod has been so; undefined while it is not. */
export function readySinceMs(pod: TrimmedPod): number | undefined {
  const condition = readyCondition(pod)
  return condition?.status === 'True' ? parseTime(condition.lastTransitionTime ?? '') : undefined
}

/** Milliseconds until a pod has been ready for so long: 0 when it is available, undefined while it is not ready. */
function availableInMs(pod: TrimmedPod, minReadySeconds: number, nowMs: number): number | undefined {
  const sinceMs = readySinceMs(pod)
  if (sinceMs === undefined) return undefined
  return minReadySeconds === 0 ? 0 : Math.max(0, sinceMs + minReadySeconds * 1000 - nowMs)
}

export const isAvailable = (pod: TrimmedPod, minReadySeconds: number, nowMs: number): boolean =>
  availableInMs(pod, minReadySeconds, nowMs) === 0

/** Milliseconds until the next of the pods becomes available; undefined where none is about to. */
export function nextAvailableInMs(
  pods: readonly TrimmedPod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const waits = pods.map((pod) => availableInMs(pod, minReadySeconds, nowMs) ?? 0).filter((ms) => ms > 0)
  return waits.length > 0 ? Math.min(...waits) : undefined
}
