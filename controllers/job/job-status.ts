import type { Job } from '../../shared/api/workloads/workloads.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { formatIndexes } from './indexes.ts'
import { isSuspended, isTracked, type JobView } from './job-view.ts'
import type { Outcome } from './outcome.ts'

export type JobStatus = NonNullable<Job['status']>
type Condition = NonNullable<JobStatus['conditions']>[number]

/** Names a change of the conditions that is reported by an event. */
export type Change = 'suspended' | 'resumed' | 'completed' | 'failed'

const condition = (
  type: string,
  status: string,
  { reason, message }: Omit<Outcome, 'type'>,
  nowMs: number,
): Condition => ({
  type,
  status,
  lastProbeTime: toTime(nowMs),
  lastTransitionTime: toTime(nowMs),
  reason,
  message,
})

/**
 * The status before pods are let go: ends that are to be counted are noted by their UIDs, so that none is counted
 * twice.
 */
export function notedStatus(
  view: JobView,
  { active, ready, outcome, looked }: { active: number; ready: number; outcome: Outcome | undefined; looked: boolean },
): { status: JobStatus; change?: Change } {
  const { job, ended, terminating, nowMs } = view
  const old = job.status ?? {}
  const uncounted = old.uncountedTerminatedPods ?? {}
  const uidsOf = (pods: readonly TrimmedPod[]): string[] => pods.map(({ metadata }) => metadata.uid ?? '')
  // An indexed job counts its indexes.
  const succeeded = [...(uncounted.succeeded ?? []), ...(view.completedIndexes ? [] : uidsOf(ended.succeeded))]
  const failed = [...(uncounted.failed ?? []), ...uidsOf(ended.failed)]
  const { active: _active, ...rest } = old
  const status: JobStatus = {
    ...rest,
    ...(!old.startTime && !isSuspended(job) && { startTime: toTime(nowMs) }),
    ...nonZero({ active }),
    ready,
    terminating,
    uncountedTerminatedPods: { ...(succeeded.length > 0 && { succeeded }), ...(failed.length > 0 && { failed }) },
  }
  const change = looked && !outcome ? suspend(status, job, nowMs) : undefined
  if (outcome && !old.conditions?.some(({ type }) => type === outcome.type))
    status.conditions = [...(status.conditions ?? []), condition(outcome.type, 'True', outcome, nowMs)]
  return { status, ...(change && { change }) }
}

const suspended = { reason: 'JobSuspended', message: 'Job suspended' }
const resumed = { reason: 'JobResumed', message: 'Job resumed' }

function suspend(status: JobStatus, job: Job, nowMs: number): Change | undefined {
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'Suspended')
  const was = status.conditions?.find(({ type }) => type === 'Suspended')?.status
  if (isSuspended(job)) {
    if (was === 'True') return undefined
    status.conditions = [...others, condition('Suspended', 'True', suspended, nowMs)]
    return 'suspended'
  }
  if (was !== 'True') return undefined
  status.conditions = [...others, condition('Suspended', 'False', resumed, nowMs)]
  status.startTime = toTime(nowMs)
  return 'resumed'
}

/**
 * The status after that: what was noted is counted, when its pod is let go; and the job's end, when nothing is left of
 * its pods. Upstream: flushUncountedAndRemoveFinalizers and enactJobFinished.
 */
export function countedStatus(
  view: JobView,
  noted: JobStatus,
  { outcome, released, active }: { outcome: Outcome | undefined; released: ReadonlySet<string>; active: number },
): { status: JobStatus; change?: Change } {
  const { pods, completedIndexes, failedIndexes, terminating, nowMs } = view
  const held = new Set(
    pods.filter((pod) => isTracked(pod) && !released.has(pod.metadata.uid ?? '')).map(({ metadata }) => metadata.uid),
  )
  const uncounted = noted.uncountedTerminatedPods ?? {}
  const kept = (uids: readonly string[] = []): string[] => uids.filter((uid) => held.has(uid))
  const [succeeded, failed] = [kept(uncounted.succeeded), kept(uncounted.failed)]
  const counted = {
    succeeded: completedIndexes?.size ?? (noted.succeeded ?? 0) + (uncounted.succeeded?.length ?? 0) - succeeded.length,
    failed: (noted.failed ?? 0) + (uncounted.failed?.length ?? 0) - failed.length,
  }
  const { succeeded: _succeeded, failed: _failed, ...rest } = noted
  const status: JobStatus = {
    ...rest,
    ...nonZero(counted),
    uncountedTerminatedPods: { ...(succeeded.length > 0 && { succeeded }), ...(failed.length > 0 && { failed }) },
    ...(completedIndexes && completedIndexes.size > 0 && { completedIndexes: formatIndexes(completedIndexes) }),
    ...(failedIndexes && { failedIndexes: formatIndexes(failedIndexes) }),
  }
  if (!outcome || held.size > 0 || terminating > 0 || active > 0) return { status }
  const isSuccess = outcome.type === 'SuccessCriteriaMet'
  const end = condition(isSuccess ? 'Complete' : 'Failed', 'True', outcome, nowMs)
  status.conditions = [...(status.conditions ?? []), end]
  if (isSuccess) status.completionTime = end.lastTransitionTime
  return { status, change: isSuccess ? 'completed' : 'failed' }
}
