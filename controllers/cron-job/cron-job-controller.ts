import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyChange, everyState, type Informer } from '../../shared/client/informer.ts'
import { cronJobs as cronJobsResource, jobs as jobsResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { controllerOf } from '../informers/ownership.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { OwnWrites } from '../workloads/own-writes.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { jobFor, planCronJob, withStarted } from './plan.ts'
import { type CronJob, type CronJobStatus, kind } from './types.ts'

/** Makes jobs at their times. Upstream: pkg/controller/cronjob/cronjob_controllerv2.go. */
class CronJobController implements Controller {
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: EventRecorder
  readonly #writes = new OwnWrites()
  readonly #cronJobs: Informer<CronJob>
  readonly #jobs: Informer<Job>
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext) {
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: 'cronjob-controller' })
    this.#cronJobs = informers.whole<CronJob>(cronJobsResource)
    this.#jobs = informers.whole<Job>(jobsResource)
    this.#queue = createLoopQueue(
      { clock, log, loop: 'cronjob-controller', object: 'CronJob', concurrency: 5 },
      (key) => this.#sync(key),
    )
    this.#cronJobs.addHandler({
      ...everyState((cronJob) => this.#consider(cronJob)),
      onDelete: (cronJob) => this.#writes.forget(cronJob),
    })
    this.#jobs.addHandler(everyChange((job) => this.#considerOwner(job)))
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const cronJob = this.#cronJobs.get({ namespace, name })
    if (!cronJob || !this.#writes.shows(cronJob)) return
    const { start, status, events, remove, againInMs } = planCronJob({
      cronJob,
      jobs: await this.#jobsOf(cronJob),
      nowMs: this.#clock.now(),
    })
    for (const event of events) this.#tell(cronJob, event)
    if (againInMs !== undefined) this.#queue.addAfter(key, againInMs)
    for (const job of remove) await this.#removeOne(cronJob, job)
    const started = start === undefined ? undefined : await this.#startOne(cronJob, start)
    await this.#report(cronJob, started && start !== undefined ? withStarted(status, started, start) : status)
  }

  /** Returns its jobs, also those that the informer does not show yet. */
  async #jobsOf({ metadata, status }: CronJob): Promise<Job[]> {
    const shown = this.#jobs.byIndex('controller', metadata.uid ?? '')
    const unseen = (status?.active ?? []).filter(({ uid }) => !shown.some((job) => job.metadata.uid === uid))
    const asked = await Promise.all(
      unseen.map(({ namespace, name = '' }) =>
        this.#client.get<Job>(jobsResource, { namespace, name }).catch(ignoreNotFound),
      ),
    )
    return [...shown, ...asked.filter((job): job is Job => job !== undefined)]
  }

  async #startOne(cronJob: CronJob, atMs: number): Promise<Job | undefined> {
    const wanted = jobFor(cronJob, atMs)
    const { namespace, name = '' } = wanted.metadata
    try {
      const job = await this.#client.create<Job>(jobsResource, wanted)
      this.#tell(cronJob, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${name}` })
      return job
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined
      if (isStatus(error, 'AlreadyExists')) {
        // Created before, and not recorded; or another owner's.
        const job = await this.#client.get<Job>(jobsResource, { namespace, name })
        return controllerOf(job.metadata)?.uid === cronJob.metadata.uid ? job : undefined
      }
      this.#tell(cronJob, { type: 'Warning', reason: 'FailedCreate', message: `Error creating job: ${wordsOf(error)}` })
      throw error
    }
  }

  async #removeOne(cronJob: CronJob, { metadata }: Job): Promise<void> {
    const { namespace, name = '', uid } = metadata
    try {
      const options = { propagationPolicy: 'Background', preconditions: { uid } } as const
      await this.#client.delete(jobsResource, { namespace, name }, options)
      this.#tell(cronJob, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` })
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      this.#tell(cronJob, { type: 'Warning', reason: 'FailedDelete', message: `Deleted job: ${wordsOf(error)}` })
      throw error
    }
  }

  async #report(cronJob: CronJob, { active = [], ...others }: CronJobStatus): Promise<void> {
    const status = { ...others, ...(active.length > 0 && { active }) }
    if (isDeepStrictEqual(status, cronJob.status ?? {})) return
    const written = await this.#client
      .update<CronJob>(cronJobsResource, { ...cronJob, status }, { subresource: 'status' })
      .catch(ignoreNotFound)
    if (written) this.#writes.wrote(written)
  }

  #tell(regarding: CronJob, event: { type: 'Normal' | 'Warning'; reason: string; message: string }): void {
    this.#recorder.record({ ...kind, regarding, ...event })
  }

  #consider({ metadata }: CronJob): void {
    this.#queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  #considerOwner({ metadata }: Job): void {
    const owner = controllerOf(metadata)
    if (owner?.kind === kind.kind) this.#queue.add(`${metadata.namespace}/${owner.name}`)
  }
}

export const startCronJobController = (context: ControllerContext): Controller => new CronJobController(context)
