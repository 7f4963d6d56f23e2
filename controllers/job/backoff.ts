import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { endedAtMs, failuresBefore, hasFailed, isDismissed, type JobView } from './job-view.ts'

const FIRST_MS = 10_000
const MAX_MS = 10 * 60_000

const waitMs = (failures: number): number => Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1))

/**
 * Returns the milliseconds until another pod may be created. The delay grows with each failure until a pod succeeds.
 * Upstream: pkg/controller/job/backoff_utils.go.
 */
export function backoffMs({ job, pods, nowMs }: JobView): number {
  const ends = pods
    .filter((pod) => pod.status?.phase === 'Succeeded' || (hasFailed(pod, job) && !isDismissed(pod)))
    .map((pod) => ({ failed: pod.status?.phase !== 'Succeeded', atMs: endedAtMs(pod) }))
    .sort((a, b) => a.atMs - b.atMs)
  const failures = ends.length - 1 - ends.findLastIndex(({ failed }) => !failed)
  const last = ends.at(-1)
  return last && failures > 0 ? Math.max(0, last.atMs + waitMs(failures) - nowMs) : 0
}

/** Returns the milliseconds until the index may get another pod. `last` is its last pod that failed. */
export function indexBackoffMs(last: TrimmedPod, nowMs: number): number {
  const { counted, ignored } = failuresBefore(last)
  return Math.max(0, endedAtMs(last) + waitMs(counted + ignored + 1) - nowMs)
}
