import type { Job } from '../../shared/api/workloads/workloads.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import { toMailTime, toZonedTime } from '../../shared/clock/zone-time.ts'
import { controllerReference } from '../informers/ownership.ts'
import { jobEnd } from '../workloads/job-end.ts'
import { parseSchedule, type Schedule } from './schedule.ts'
import type { CronJob, CronJobStatus } from './types.ts'
import { kind } from './types.ts'

type Active = NonNullable<CronJobStatus['active']>[number]
interface Told {
  type: 'Normal' | 'Warning'
  reason: string
  message: string
}
export interface CronJobInput {
  cronJob: CronJob
  /** Existing Jobs that the CronJob has created. */
  jobs: readonly Job[]
  nowMs: number
}
export interface CronJobPlan {
  /** Holds the status after all events so far. */
  status: CronJobStatus
  events: Told[]
  /** Finished Jobs beyond the history limits, and Jobs that the next one replaces. */
  remove: Job[]
  /** Scheduled time of the Job that is to start now. */
  start?: number
  /** Time until the next sync; absent if there is nothing to wait for. */
  againInMs?: number
}

/** Delay after the scheduled time, so that it has surely come; upstream's nextScheduleDelta. */
const BEHIND_MS = 100
/** Beyond this number, missed schedules cause a warning. */
const MANY = 100

const endOf = (job: Job): string | undefined => jobEnd(job)?.type

const jobName = ({ metadata }: CronJob, atMs: number): string => `${metadata.name}-${Math.floor(atMs / 60_000)}`

/**
 * Decides what to do about a CronJob now. Pure; upstream: syncCronJob and cleanupFinishedJobs in
 * pkg/controller/cronjob/cronjob_controllerv2.go.
 */
export function planCronJob({ cronJob, jobs, nowMs }: CronJobInput): CronJobPlan {
  const { spec, metadata } = cronJob
  const plan: CronJobPlan = { status: { ...cronJob.status }, events: [], remove: surplus(cronJob, jobs) }
  lookBack(plan, jobs)
  if (metadata.deletionTimestamp || spec.suspend) return plan
  const schedule = parseSchedule(spec.schedule, spec.timeZone)
  const { dueMs, isMany } = mostRecent(cronJob, schedule, nowMs)
  const nextMs = schedule.next(Math.max(dueMs ?? 0, nowMs))
  if (nextMs !== undefined) plan.againInMs = nextMs - nowMs + BEHIND_MS
  const tell = (type: Told['type'], reason: string, message: string): void =>
    void plan.events.push({ type, reason, message })
  if (isMany)
    tell(
      'Warning',
      'TooManyMissedTimes',
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    )
  if (dueMs === undefined) return plan
  const { startingDeadlineSeconds, concurrencyPolicy } = spec
  const { active = [], lastScheduleTime } = plan.status
  if (startingDeadlineSeconds !== undefined && dueMs + Number(startingDeadlineSeconds) * 1000 < nowMs) {
    tell('Warning', 'MissSchedule', `Missed scheduled time to start a job: ${toMailTime(dueMs)}`)
    return plan
  }
  const isDone =
    active.some(({ name }) => name === jobName(cronJob, dueMs)) ||
    (lastScheduleTime !== undefined && parseTime(lastScheduleTime) === dueMs)
  if (isDone) return plan
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const words = 'Not starting job because prior execution is running and concurrency policy is Forbid'
    tell('Normal', 'JobAlreadyActive', words)
    return plan
  }
  if (concurrencyPolicy === 'Replace') {
    plan.remove.push(...jobs.filter((job) => active.some(({ uid }) => uid === job.metadata.uid)))
    plan.status.active = []
  }
  plan.start = dueMs
  return plan
}

/** Jobs that ended since, or are no more. */
function lookBack(plan: CronJobPlan, jobs: readonly Job[]): void {
  const { status, events } = plan
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]))
  const known = status.active ?? []
  status.active = known.filter((reference) => {
    const job = byUid.get(reference.uid)
    const end = job && endOf(job)
    if (!job)
      events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${reference.name}` })
    if (end)
      events.push({
        type: 'Normal',
        reason: 'SawCompletedJob',
        message: `Saw completed job: ${reference.name}, condition: ${end}`,
      })
    return job !== undefined && end === undefined
  })
  for (const job of jobs) {
    const { completionTime } = job.status ?? {}
    if (endOf(job) !== 'Complete' || !completionTime) {
      if (!endOf(job) && !known.some(({ uid }) => uid === job.metadata.uid)) {
        const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`
        events.push({ type: 'Warning', reason: 'UnexpectedJob', message })
      }
    } else if (!status.lastSuccessfulTime || parseTime(completionTime) > parseTime(status.lastSuccessfulTime)) {
      status.lastSuccessfulTime = completionTime
    }
  }
}

/** The oldest of those that ended, beyond the limits. */
function surplus({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const limits = [
    ['Complete', spec.successfulJobsHistoryLimit],
    ['Failed', spec.failedJobsHistoryLimit],
  ] as const
  const startMs = ({ status }: Job): number =>
    status?.startTime ? parseTime(status.startTime) : Number.MAX_SAFE_INTEGER
  return limits.flatMap(([end, limit]) => {
    if (limit === undefined) return []
    const ended = jobs.filter((job) => endOf(job) === end && !job.metadata.deletionTimestamp)
    const oldestFirst = ended.sort(
      (a, b) => startMs(a) - startMs(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )
    return oldestFirst.slice(0, Math.max(0, ended.length - limit))
  })
}

/**
 * The last time that has come, of those since the last job; many may have been missed. Upstream: mostRecentScheduleTime
 * in utils.go.
 */
function mostRecent(
  { metadata, spec, status }: CronJob,
  { next }: Schedule,
  nowMs: number,
): { dueMs?: number; isMany: boolean } {
  const sinceMs = parseTime(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '')
  const { startingDeadlineSeconds } = spec
  const earliestMs =
    startingDeadlineSeconds === undefined ? sinceMs : Math.max(sinceMs, nowMs - Number(startingDeadlineSeconds) * 1000)
  const first = next(earliestMs)
  const second = first === undefined ? undefined : next(first)
  if (first === undefined || first > nowMs) return { isMany: false }
  if (second === undefined || second > nowMs) return { dueMs: first, isMany: false }
  const missed = Math.floor((nowMs - first) / (second - first)) + 1
  // Near the last one at once: there may be thousands before it.
  let dueMs = first
  for (let ms = next(first + (missed - 2) * (second - first)); ms !== undefined && ms <= nowMs; ms = next(ms))
    dueMs = ms
  return { dueMs, isMany: missed > MANY }
}

/** The job for one time; its name is the same however often it is made. Upstream: getJobFromTemplate2. */
export function jobFor(cronJob: CronJob, atMs: number): Job {
  const { metadata, spec } = cronJob
  const { metadata: own = {}, spec: jobSpec } = spec.jobTemplate
  return structuredClone({
    metadata: {
      name: jobName(cronJob, atMs),
      namespace: metadata.namespace,
      labels: { ...own.labels },
      annotations: {
        ...own.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': toZonedTime(atMs, spec.timeZone ?? 'UTC'),
      },
      ownerReferences: [controllerReference(kind, metadata)],
    },
    spec: jobSpec,
  })
}

export function withStarted(status: CronJobStatus, { metadata }: Job, atMs: number): CronJobStatus {
  const { namespace, name, uid, resourceVersion } = metadata
  const reference: Active = { apiVersion: 'batch/v1', kind: 'Job', namespace, name, uid, resourceVersion }
  return { ...status, active: [...(status.active ?? []), reference], lastScheduleTime: toTime(atMs) }
}
