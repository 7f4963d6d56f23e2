import { isDeepStrictEqual } from 'node:util'
import { ignoreNotFound, isStatus } from '../../shared/api/status-error.ts'
import type { Job } from '../../shared/api/workloads.ts'
import { cronJobs as cronJobsResource, jobs as jobsResource } from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { OwnWrites } from '../workloads/own-writes.ts'
import { controllerOf } from '../workloads/ownership.ts'
import { isNamespaceGoing, wordsOf } from '../workloads/pod-control.ts'
import { jobFor, planCronJob, withStarted } from './plan.ts'
import { type CronJob, type CronJobStatus, kind } from './types.ts'

/** Makes jobs at their times. Upstream: pkg/controller/cronjob/cronjob_controllerv2.go. */
export function startCronJobController({ client, informers, clock, log }: ControllerContext): Controller {
  const recorder = createEventRecorder({ client, clock, log, component: 'cronjob-controller' })
  const writes = new OwnWrites()
  const cronJobs = informers.whole<CronJob>(cronJobsResource)
  const jobs = informers.whole<Job>(jobsResource)

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const cronJob = cronJobs.get({ namespace, name })
    if (!cronJob || !writes.shows(cronJob)) return
    const { start, status, events, remove, againInMs } = planCronJob({
      cronJob,
      jobs: await jobsOf(cronJob),
      nowMs: clock.now(),
    })
    for (const event of events) tell(cronJob, event)
    if (againInMs !== undefined) queue.addAfter(key, againInMs)
    for (const job of remove) await removeOne(cronJob, job)
    const started = start === undefined ? undefined : await startOne(cronJob, start)
    await report(cronJob, started && start !== undefined ? withStarted(status, started, start) : status)
  }

  /** Also those that our own copy does not show yet. */
  async function jobsOf({ metadata, status }: CronJob): Promise<Job[]> {
    const shown = jobs.byIndex('controller', metadata.uid ?? '')
    const unseen = (status?.active ?? []).filter(({ uid }) => !shown.some((job) => job.metadata.uid === uid))
    const asked = await Promise.all(
      unseen.map(({ namespace, name = '' }) =>
        client.get<Job>(jobsResource, { namespace, name }).catch(ignoreNotFound),
      ),
    )
    return [...shown, ...asked.filter((job): job is Job => job !== undefined)]
  }

  async function startOne(cronJob: CronJob, atMs: number): Promise<Job | undefined> {
    const wanted = jobFor(cronJob, atMs)
    const { namespace, name = '' } = wanted.metadata
    try {
      const job = await client.create<Job>(jobsResource, wanted)
      tell(cronJob, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${name}` })
      return job
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined
      if (isStatus(error, 'AlreadyExists')) {
        // Created before, and not recorded; or another owner's.
        const job = await client.get<Job>(jobsResource, { namespace, name })
        return controllerOf(job.metadata)?.uid === cronJob.metadata.uid ? job : undefined
      }
      tell(cronJob, { type: 'Warning', reason: 'FailedCreate', message: `Error creating job: ${wordsOf(error)}` })
      throw error
    }
  }

  async function removeOne(cronJob: CronJob, { metadata }: Job): Promise<void> {
    const { namespace, name = '', uid } = metadata
    try {
      const options = { propagationPolicy: 'Background', preconditions: { uid } } as const
      await client.delete(jobsResource, { namespace, name }, options)
      tell(cronJob, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` })
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      tell(cronJob, { type: 'Warning', reason: 'FailedDelete', message: `Deleted job: ${wordsOf(error)}` })
      throw error
    }
  }

  async function report(cronJob: CronJob, { active = [], ...others }: CronJobStatus): Promise<void> {
    const status = { ...others, ...(active.length > 0 && { active }) }
    if (isDeepStrictEqual(status, cronJob.status ?? {})) return
    const written = await client
      .update<CronJob>(cronJobsResource, { ...cronJob, status }, { subresource: 'status' })
      .catch(ignoreNotFound)
    if (written) writes.wrote(written)
  }

  const tell = (regarding: CronJob, event: { type: 'Normal' | 'Warning'; reason: string; message: string }): void =>
    recorder.record({ ...kind, regarding, ...event })

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 5,
    work: sync,
    onError: (error, key) => log.debug({ err: error, cronJob: key }, 'its jobs will be looked at again'),
  })
  const consider = ({ metadata }: CronJob): void => queue.add(`${metadata.namespace}/${metadata.name}`)
  const considerOwner = ({ metadata }: Job): void => {
    const owner = controllerOf(metadata)
    if (owner?.kind === kind.kind) queue.add(`${metadata.namespace}/${owner.name}`)
  }
  cronJobs.addHandler({ onAdd: consider, onUpdate: consider, onDelete: (cronJob) => writes.forget(cronJob) })
  jobs.addHandler({ onAdd: considerOwner, onUpdate: considerOwner, onDelete: considerOwner })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}
