import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { type Reason, reasonFor, type Situation } from '../../shared/reasons/reason-table.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { podsToDelete } from '../workloads/pods-to-delete.ts'
import { backoffMs, indexBackoffMs } from './backoff.ts'
import {
  failuresBefore,
  hasFailed,
  indexOf,
  isDismissed,
  isIndexed,
  isSuspended,
  type JobView,
  replacesFailedOnly,
} from './job-view.ts'
import { failureVerdict } from './policies.ts'

/** Limits the pods that one sync creates or deletes; upstream's MaxPodCreateDeletePerSync. */
const BURST = 500

export interface NewPod {
  index?: number
  /** Earlier failures of the pod's index; present if each index has a limit of its own. */
  failures?: { counted: number; ignored: number }
}
export interface SizePlan {
  create: NewPod[]
  remove: { pod: TrimmedPod; reason: Reason | undefined }[]
  /** Time until more pods may be created. */
  againInMs?: number
}

/** Plans which pods an unfinished job creates and deletes. Pure; upstream: manageJob. */
export function sizeOf(view: JobView): SizePlan {
  const { job, active, succeeded, terminating } = view
  const { parallelism = 1, completions } = job.spec
  if (isSuspended(job)) {
    const reason = reasonFor('Job', 'suspended')
    return { create: [], remove: toRemove(view, active.length).map((pod) => ({ pod, reason })) }
  }
  const useful =
    completions === undefined ? (succeeded > 0 ? active.length : parallelism) : Math.max(0, completions - succeeded)
  const wanted = Math.min(useful, completions === undefined && succeeded > 0 ? useful : parallelism)
  const remove = toRemove(view, Math.max(0, active.length - wanted)).slice(0, BURST)
  if (remove.length > 0) {
    return { create: [], remove: remove.map((pod) => ({ pod, reason: reasonFor('Job', whyOneLess(pod, job)) })) }
  }
  const missing = wanted - active.length - (replacesFailedOnly(job) ? terminating : 0)
  if (missing <= 0) return { create: [], remove: [] }
  if (job.spec.backoffLimitPerIndex !== undefined) return independentPods(view, Math.min(missing, BURST))
  const waitMs = backoffMs(view)
  if (waitMs > 0) return { create: [], remove: [], againInMs: waitMs }
  const count = Math.min(missing, BURST)
  const create = isIndexed(job)
    ? pendingIndexes(view)
        .slice(0, count)
        .map((index) => ({ index }))
    : Array.from({ length: count }, () => ({}))
  return { create, remove: [] }
}

function whyOneLess(pod: TrimmedPod, job: Job): Situation<'Job'> {
  if (!isIndexed(job)) return 'parallelism lowered'
  return indexOf(pod, job) === undefined ? 'completions lowered, Indexed' : 'parallelism lowered, Indexed'
}

/** Returns the pods that are too many, and those of an indexed job that no index needs. */
function toRemove({ job, active, nowMs }: JobView, atLeast: number): TrimmedPod[] {
  const seen = new Set<number>()
  const useless = isIndexed(job)
    ? active.filter((pod) => {
        const index = indexOf(pod, job)
        const isNew = index !== undefined && !seen.has(index)
        if (isNew) seen.add(index)
        return !isNew
      })
    : []
  const others = active.filter((pod) => !useless.includes(pod))
  const count = Math.max(0, atLeast - useless.length)
  return [...useless, ...(count > 0 ? podsToDelete({ pods: others, count, related: others, nowMs }) : [])]
}

/** Indexes without a pod, that still need one, ascending. */
function pendingIndexes({ job, pods, active, completedIndexes, failedIndexes }: JobView): number[] {
  const alive = replacesFailedOnly(job) ? pods.filter((pod) => !hasEnded(pod)) : active
  const taken = new Set(alive.map((pod) => indexOf(pod, job)))
  return Array.from({ length: job.spec.completions ?? 0 }, (_, index) => index).filter(
    (index) => !taken.has(index) && !completedIndexes?.has(index) && !failedIndexes?.has(index),
  )
}

/** Each index waits for itself. Upstream: getPodCreationInfoForIndependentIndexes. */
function independentPods(view: JobView, count: number): SizePlan {
  const last = lastFailures(view)
  const waits = pendingIndexes(view).map((index) => {
    const failed = last.get(index)
    return { index, failed, waitMs: failed ? indexBackoffMs(failed, view.nowMs) : 0 }
  })
  const later = waits.filter(({ waitMs }) => waitMs > 0)
  const create = waits
    .filter(({ waitMs }) => waitMs === 0)
    .slice(0, count)
    .map(({ index, failed }) => ({
      index,
      failures: failed ? failuresAfter(failed, view) : { counted: 0, ignored: 0 },
    }))
  return {
    create,
    remove: [],
    ...(later.length > 0 && { againInMs: Math.min(...later.map(({ waitMs }) => waitMs)) }),
  }
}

function failuresAfter(pod: TrimmedPod, { job }: JobView): NewPod['failures'] {
  const { counted, ignored } = failuresBefore(pod)
  const isIgnored = failureVerdict(job, pod).action === 'Ignore'
  return { counted: counted + (isIgnored ? 0 : 1), ignored: ignored + (isIgnored ? 1 : 0) }
}

/** Pods that failed, and whose index still waits for the next one. Only where each index has a limit of its own. */
export function awaitedFailures(view: JobView): Set<TrimmedPod> {
  if (view.job.spec.backoffLimitPerIndex === undefined) return new Set()
  const pending = new Set(pendingIndexes(view))
  return new Set([...lastFailures(view)].filter(([index]) => pending.has(index)).map(([, pod]) => pod))
}

function lastFailures({ job, pods }: Pick<JobView, 'job' | 'pods'>): Map<number, TrimmedPod> {
  const failed = pods
    .filter((pod) => hasFailed(pod, job) && !isDismissed(pod))
    .sort((a, b) => rank(a) - rank(b) || createdMs(a) - createdMs(b))
  return new Map(
    failed.flatMap((pod) => {
      const index = indexOf(pod, job)
      return index === undefined ? [] : [[index, pod] as const]
    }),
  )
}
const rank = (pod: TrimmedPod): number => failuresBefore(pod).counted + failuresBefore(pod).ignored
const createdMs = ({ metadata }: TrimmedPod): number => parseTime(metadata.creationTimestamp ?? '')
