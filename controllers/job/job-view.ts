import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isActive, isReady, isTerminating } from '../workloads/pod-states.ts'
import { parseIndexes } from './indexes.ts'
import { failureVerdict } from './policies.ts'

export const kind = { apiVersion: 'batch/v1', kind: 'Job' }
/** Finalizer that keeps a pod until its end has been counted. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking'
/** Label and annotation of an indexed job's pods. */
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index'
/**
 * Annotations that hold how often earlier pods of the index failed: failures that count, and failures that were
 * ignored.
 */
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count'
export const IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count'

/** Describes the state of a job, as far as its pods show it. */
export interface JobView {
  job: Job
  nowMs: number
  pods: readonly TrimmedPod[]
  active: TrimmedPod[]
  terminating: number
  ready: number
  ended: { succeeded: TrimmedPod[]; failed: TrimmedPod[]; ignored: TrimmedPod[] }
  /** The counts include the pods of `ended`. */
  succeeded: number
  failed: number
  /** Present if the job is indexed. */
  completedIndexes?: Set<number>
  /** Present if the job has a backoffLimitPerIndex. */
  failedIndexes?: Set<number>
  /** Message about a pod whose failure fails the whole job. */
  failJobMessage?: string
}

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === 'Indexed'
export const isSuspended = ({ spec }: Job): boolean => spec.suspend === true

/** Returns whether a pod is replaced only after it has failed, as opposed to when it starts to terminate. */
export const replacesFailedOnly = ({ spec }: Job): boolean =>
  spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined

/** The index of a pod; undefined where it has none that the job has. */
export function indexOf({ metadata }: TrimmedPod, { spec }: Job): number | undefined {
  const text = metadata.labels?.[COMPLETION_INDEX] ?? metadata.annotations?.[COMPLETION_INDEX] ?? ''
  return /^\d+$/.test(text) && Number(text) < (spec.completions ?? 0) ? Number(text) : undefined
}

export const isTracked = ({ metadata }: TrimmedPod): boolean =>
  metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false

/** Upstream: isPodFailed. */
export const hasFailed = (pod: TrimmedPod, job: Job): boolean =>
  pod.status?.phase === 'Failed' || (!replacesFailedOnly(job) && isTerminating(pod))

/** Pods that were released before their deletion, because fewer were wanted, do not count as failed. */
export const isDismissed = (pod: TrimmedPod): boolean => pod.metadata.deletionTimestamp !== undefined && !isTracked(pod)

const countOf = ({ metadata }: TrimmedPod, annotation: string): number =>
  Number(metadata.annotations?.[annotation] ?? 0)
export const failuresBefore = (pod: TrimmedPod) => ({
  counted: countOf(pod, FAILURE_COUNT),
  ignored: countOf(pod, IGNORED_FAILURE_COUNT),
})

/** Returns whether no more pods are made for the index of the failed pod. */
function failsIndex(pod: TrimmedPod, job: Job): boolean {
  const { action } = failureVerdict(job, pod)
  if (action === 'FailIndex') return true
  return action !== 'Ignore' && failuresBefore(pod).counted >= (job.spec.backoffLimitPerIndex ?? 0)
}

/**
 * Counts the pods of a job. `released` holds pods that have been released, though the informer still shows their
 * finalizer. Upstream: the beginning of syncJob, and getNewFinishedPods.
 */
export function viewOf(
  job: Job,
  pods: readonly TrimmedPod[],
  now: { nowMs: number; released: ReadonlySet<string> },
): JobView {
  const { spec, status = {} } = job
  const uncounted = status.uncountedTerminatedPods ?? {}
  const known = new Set([...(uncounted.succeeded ?? []), ...(uncounted.failed ?? []), ...now.released])
  const news = pods.filter((pod) => isTracked(pod) && !known.has(pod.metadata.uid ?? ''))
  const failed = news.filter((pod) => hasFailed(pod, job))
  const verdicts = new Map(failed.map((pod) => [pod, failureVerdict(job, pod)]))
  const ended = {
    succeeded: news.filter((pod) => pod.status?.phase === 'Succeeded'),
    failed: failed.filter((pod) => verdicts.get(pod)?.action !== 'Ignore'),
    ignored: failed.filter((pod) => verdicts.get(pod)?.action === 'Ignore'),
  }
  const active = pods.filter(isActive)
  const view: JobView = {
    job,
    nowMs: now.nowMs,
    pods,
    active,
    terminating: pods.filter(isTerminating).length,
    ready: active.filter(isReady).length,
    ended,
    succeeded: (status.succeeded ?? 0) + (uncounted.succeeded ?? []).length + ended.succeeded.length,
    failed: (status.failed ?? 0) + (uncounted.failed ?? []).length + ended.failed.length,
    failJobMessage: failed.flatMap((pod) => verdicts.get(pod)?.message ?? [])[0],
  }
  if (!isIndexed(job)) return view
  const limit = spec.completions ?? 0
  const indexes = (some: readonly TrimmedPod[]): number[] => some.flatMap((pod) => indexOf(pod, job) ?? [])
  view.completedIndexes = parseIndexes(status.completedIndexes, limit)
  for (const index of indexes(ended.succeeded)) view.completedIndexes.add(index)
  view.succeeded = view.completedIndexes.size
  if (spec.backoffLimitPerIndex === undefined) return view
  view.failedIndexes = parseIndexes(status.failedIndexes, limit)
  for (const index of indexes(failed.filter((pod) => failsIndex(pod, job))))
    if (!view.completedIndexes.has(index)) view.failedIndexes.add(index)
  return view
}

/** When the last container of a pod ended, in milliseconds since the epoch. Upstream: getFinishTimeFromContainers. */
export function endedAtMs(pod: TrimmedPod): number {
  const { metadata, status } = pod
  const ends = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated?.finishedAt ?? [])
  if (ends.length > 0 && hasEnded(pod)) return Math.max(...ends.map(parseTime))
  if (metadata.deletionTimestamp)
    return parseTime(metadata.deletionTimestamp) - Number(metadata.deletionGracePeriodSeconds ?? 0) * 1000
  return parseTime(metadata.creationTimestamp ?? '')
}
