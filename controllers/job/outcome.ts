import { parseTime } from '../../shared/clock/timestamp.ts'
import { isSuspended, type JobView } from './job-view.ts'
import { metSuccessPolicy } from './policies.ts'

/** Says that a job is about to end, and why. The job ends when its pods are gone. */
export interface Outcome {
  type: 'FailureTarget' | 'SuccessCriteriaMet'
  reason: string
  message: string
}

const failure = (reason: string, message: string): Outcome => ({ type: 'FailureTarget', reason, message })

/**
 * Decides how the job ended; undefined while it goes on. What was decided once stays. Upstream: syncJob in
 * pkg/controller/job/job_controller.go.
 */
export function outcomeOf(view: JobView): Outcome | undefined {
  const { job, failed, failedIndexes, completedIndexes, failJobMessage } = view
  const { spec, status } = job
  const decided = status?.conditions?.find(
    (condition) =>
      (condition.type === 'FailureTarget' || condition.type === 'SuccessCriteriaMet') && condition.status === 'True',
  )
  if (decided) {
    const { type, reason = '', message = '' } = decided
    return { type: type as Outcome['type'], reason, message }
  }
  if (failJobMessage !== undefined) return failure('PodFailurePolicy', failJobMessage)
  if (failed > (spec.backoffLimit ?? 6) || restartsTooOften(view))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  if (deadlineInMs(view) === 0) return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
  if (failedIndexes) {
    if (spec.maxFailedIndexes !== undefined && failedIndexes.size > spec.maxFailedIndexes)
      return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
    const over = failedIndexes.size + (completedIndexes?.size ?? 0) >= (spec.completions ?? 0)
    if (failedIndexes.size > 0 && over) return failure('FailedIndexes', 'Job has failed indexes')
  }
  const met = completedIndexes && metSuccessPolicy(job, completedIndexes)
  return met === undefined ? undefined : { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: met }
}

/** Returns the successful outcome if enough pods have succeeded and none is active; else undefined. */
export function completion({ job: { spec }, succeeded }: JobView, active: number): Outcome | undefined {
  const isEnough = spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions
  if (!isEnough || active > 0) return undefined
  return {
    type: 'SuccessCriteriaMet',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  }
}

/** Milliseconds until the job has been active for too long; undefined where it may be for ever. */
export function deadlineInMs({ job, nowMs }: Pick<JobView, 'job' | 'nowMs'>): number | undefined {
  const { activeDeadlineSeconds } = job.spec
  if (activeDeadlineSeconds === undefined || isSuspended(job) || !job.status?.startTime) return undefined
  return Math.max(0, parseTime(job.status.startTime) + Number(activeDeadlineSeconds) * 1000 - nowMs)
}

/** Containers that are restarted in their pods count as well. Upstream: pastBackoffLimitOnFailure. */
function restartsTooOften({ job: { spec }, pods }: JobView): boolean {
  if (spec.template.spec?.restartPolicy !== 'OnFailure') return false
  const alive = pods.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending')
  const restarts = alive
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  const limit = spec.backoffLimit ?? 6
  return limit === 0 ? restarts > 0 : restarts >= limit
}
