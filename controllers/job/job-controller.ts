import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import type { LabelSelector } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { jobs as jobsResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Reason } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { jobEnd } from '../workloads/job-end.ts'
import { OwnWrites } from '../workloads/own-writes.ts'
import { PodOwners } from '../workloads/pod-owners.ts'
import { slowStart } from '../workloads/slow-start.ts'
import { makeJobs } from './job-pod.ts'
import { awaitedFailures, sizeOf } from './job-size.ts'
import { type Change, countedStatus, type JobStatus, notedStatus } from './job-status.ts'
import { type JobView, kind, viewOf } from './job-view.ts'
import { completion, deadlineInMs, type Outcome, outcomeOf } from './outcome.ts'
import { type PodTracking, trackPods } from './pod-tracking.ts'

/** `spec.managedBy` of jobs that this controller runs. */
const MANAGER = 'kubernetes.io/job-controller'

/** Runs the pods of jobs until enough of them have succeeded. Upstream: pkg/controller/job/job_controller.go. */
class JobController implements Controller {
  readonly #client: Client
  readonly #clock: Clock
  readonly #writes = new OwnWrites()
  readonly #jobs: PodOwners<Job>
  readonly #tracking: PodTracking

  constructor(context: ControllerContext) {
    const { client, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#jobs = new PodOwners<Job>(context, {
      kind: { ...kind, resource: jobsResource },
      component: 'job-controller',
      selectorOf: ({ spec }) => spec.selector,
      sync: (job, selector) => this.#sync(job, selector),
      onDelete: (job) => this.#writes.forget(job),
    })
    const { all, pods } = this.#jobs
    this.#tracking = trackPods({ client, clock, log, jobs: all, pods })
  }

  async close(): Promise<void> {
    await this.#jobs.close()
    await this.#tracking.close()
  }

  async #sync(job: Job, selector: LabelSelector): Promise<void> {
    if ((job.spec.managedBy ?? MANAGER) !== MANAGER) return
    if (jobEnd(job)) return this.#tracking.letGo(this.#jobs.pods.byIndex('controller', job.metadata.uid ?? ''))
    if (!this.#jobs.isSettled(job) || !this.#writes.shows(job)) return
    const owned = await this.#jobs.claim(job, selector)
    const view = viewOf(job, owned, { nowMs: this.#clock.now(), released: this.#tracking.released })
    const decided = outcomeOf(view)
    const { active, failure } = decided
      ? await this.#removeAll(
          view,
          view.active.map((pod) => ({ pod })),
        )
      : await this.#manage(view)
    const outcome = decided ?? completion(view, active)
    if (!outcome) holdBack(view)
    await this.#report(view, { active, outcome, looked: !decided && !job.metadata.deletionTimestamp })
    const deadlineMs = deadlineInMs({ job, nowMs: view.nowMs })
    if (deadlineMs !== undefined && !outcome) this.#jobs.considerAfter(job, deadlineMs)
    if (failure) throw failure
  }

  async #manage(view: JobView): Promise<{ active: number; failure?: unknown }> {
    const { job } = view
    if (job.metadata.deletionTimestamp) return { active: view.active.length }
    const { create, remove, againInMs } = sizeOf(view)
    if (againInMs !== undefined) this.#jobs.considerAfter(job, againInMs + 1)
    if (remove.length > 0) {
      // Fewer are wanted: let go before, they do not count as failed.
      await this.#tracking.letGo(remove.map(({ pod }) => pod))
      return this.#removeAll(view, remove)
    }
    const waiting = [...create]
    let made = 0
    try {
      await slowStart(create.length, async () => {
        await this.#jobs.create(job, job.spec.template, (pod) => makeJobs(pod, job, waiting.shift() ?? {}))
        made += 1
      })
      return { active: view.active.length + made }
    } catch (failure) {
      return { active: view.active.length + made, ...(!isNamespaceGoing(failure) && { failure }) }
    }
  }

  /** Resolves to how many active ones are left, and why, if not all could be deleted. */
  async #removeAll(
    view: JobView,
    leaving: readonly { pod: TrimmedPod; reason?: Reason }[],
  ): Promise<{ active: number; failure?: unknown }> {
    const { job, active } = view
    const outcomes = await Promise.allSettled(leaving.map(({ pod, reason }) => this.#jobs.remove(job, pod, reason)))
    const failed = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    const gone = leaving.length - failed.length
    view.terminating += gone
    return { active: active.length - gone, ...(failed[0] && { failure: failed[0].reason }) }
  }

  /** Notes who has ended, lets them go, counts them, and ends the job with the last of them. */
  async #report(view: JobView, now: { active: number; outcome: Outcome | undefined; looked: boolean }): Promise<void> {
    const noted = notedStatus(view, { ...now, ready: now.outcome ? 0 : view.ready })
    const { ended, pods: owned } = view
    const uncounted = noted.status.uncountedTerminatedPods ?? {}
    const uids = new Set([...(uncounted.succeeded ?? []), ...(uncounted.failed ?? [])])
    const leaving = new Set([
      ...ended.succeeded,
      ...ended.ignored,
      ...owned.filter(({ metadata }) => uids.has(metadata.uid ?? '')),
    ])
    let job = view.job
    // Where nothing has to be safe before pods are let go, one write is enough.
    if (leaving.size > 0) job = await this.#write(job, withIndexes(view, noted.status), noted.change)
    await this.#tracking.letGo([...leaving])
    const letGo = new Set([...this.#tracking.released, ...[...leaving].map(({ metadata }) => metadata.uid ?? '')])
    const counted = countedStatus(view, noted.status, { ...now, released: letGo })
    await this.#write(job, counted.status, leaving.size > 0 ? counted.change : (counted.change ?? noted.change))
  }

  async #write(job: Job, status: JobStatus, change: Change | undefined): Promise<Job> {
    const written = isDeepStrictEqual(status, job.status)
      ? undefined
      : await this.#client
          .update<Job>(jobsResource, { ...job, status }, { subresource: 'status' })
          .catch(ignoreNotFound)
    if (written) this.#writes.wrote(written)
    if (change) this.#tell(written ?? job, change)
    return written ?? job
  }

  #tell(job: Job, change: Change): void {
    const failed = job.status?.conditions?.find(({ type }) => type === 'Failed')
    const says: Record<Change, [reason: string, message: string]> = {
      suspended: ['Suspended', 'Job suspended'],
      resumed: ['Resumed', 'Job resumed'],
      completed: ['Completed', 'Job completed'],
      failed: [failed?.reason ?? '', failed?.message ?? ''],
    }
    const [reason, message] = says[change]
    const type = change === 'failed' ? 'Warning' : 'Normal'
    this.#jobs.recorder.record({ ...kind, regarding: job, type, reason, message })
  }
}

export const startJobController = (context: ControllerContext): Controller => new JobController(context)

/** Adds to a noted status the indexes of an indexed job that are certain. */
const withIndexes = (view: JobView, noted: JobStatus): JobStatus => {
  const { completedIndexes, failedIndexes } = countedStatus(view, noted, {
    outcome: undefined,
    released: new Set(),
    active: 0,
  }).status
  return {
    ...noted,
    ...(completedIndexes !== undefined && { completedIndexes }),
    ...(failedIndexes !== undefined && { failedIndexes }),
  }
}

/** A failed pod tells how often its index has failed: it is kept until another has taken its place. */
function holdBack(view: JobView): void {
  const kept = awaitedFailures(view)
  const goes = (pod: TrimmedPod): boolean => !kept.has(pod)
  view.ended.failed = view.ended.failed.filter(goes)
  view.ended.ignored = view.ended.ignored.filter(goes)
}
