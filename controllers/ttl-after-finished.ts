import { ignoreNotFound } from '../shared/api/status/status-error.ts'
import type { Job } from '../shared/api/workloads/workloads.ts'
import { jobs as jobsResource } from '../shared/client/resources.ts'
import { parseTime } from '../shared/clock/timestamp.ts'
import type { Controller, ControllerContext } from './controller.ts'
import { createLoopQueue } from './loop-queue.ts'
import { jobEnd } from './workloads/job-end.ts'

/** Deletes jobs, with their pods, so long after their end as they say. Upstream: pkg/controller/ttlafterfinished. */
export function startTtlAfterFinished({ client, informers, clock, log }: ControllerContext): Controller {
  const jobs = informers.whole<Job>(jobsResource)
  const queue = createLoopQueue(
    { clock, log, loop: 'ttl-after-finished-controller', object: 'Job' },
    async (key): Promise<void> => {
      const [namespace = '', name = ''] = key.split('/')
      const job = jobs.get({ namespace, name })
      const leftMs = job && timeLeftMs(job, clock.now())
      if (leftMs === undefined) return
      if (leftMs > 0) return queue.addAfter(key, leftMs)
      const { uid, resourceVersion } = job?.metadata ?? {}
      const options = { propagationPolicy: 'Foreground', preconditions: { uid, resourceVersion } } as const
      await client.delete(jobsResource, { namespace, name }, options).catch(ignoreNotFound)
    },
  )
  const consider = ({ metadata }: Job): void => queue.add(`${metadata.namespace}/${metadata.name}`)
  jobs.addHandler({ onAdd: consider, onUpdate: consider })
  return { close: () => queue.close() }
}

/** Milliseconds until a job is to go; undefined for one that stays, or is not over. */
export function timeLeftMs(job: Job, nowMs: number): number | undefined {
  const { metadata, spec } = job
  const end = jobEnd(job)
  if (spec.ttlSecondsAfterFinished === undefined || !end?.lastTransitionTime || metadata.deletionTimestamp)
    return undefined
  return Math.max(0, parseTime(end.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000 - nowMs)
}
