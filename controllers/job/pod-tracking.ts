import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { jobs as jobsResource, pods as podsResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Log } from '../../shared/log/log.ts'
import { controllerOf } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { isTracked, kind, TRACKING_FINALIZER } from './job-view.ts'

/** Removes the finalizer of pods whose end has been counted. */
export interface PodTracking {
  /** UIDs of pods without finalizer whose informer still shows it. */
  released: ReadonlySet<string>
  letGo(pods: readonly TrimmedPod[]): Promise<void>
  close(): Promise<void>
}

/**
 * Starts the tracking. It also releases pods whose job no longer exists, because they are not counted any more.
 * Upstream: syncOrphanPod.
 */
export function trackPods(options: {
  client: Client
  clock: Clock
  log: Log
  jobs: Informer<Job>
  pods: Informer<TrimmedPod>
}): PodTracking {
  const { client, clock, log, jobs, pods } = options
  const released = new Set<string>()

  async function letGoOne({ metadata }: TrimmedPod): Promise<void> {
    const { namespace, name = '', uid = '' } = metadata
    const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } }
    released.add(uid)
    try {
      await client.patch(podsResource, { namespace, name }, patch, { type: 'strategic' })
    } catch (error) {
      // The pod is gone, or the name belongs to another pod.
      if (isStatus(error, 'NotFound') || isStatus(error, 'Conflict')) return
      released.delete(uid)
      throw error
    }
    const shown = pods.get({ namespace, name })
    if (shown?.metadata.uid !== uid || !isTracked(shown)) released.delete(uid)
  }
  const letGo = async (some: readonly TrimmedPod[]): Promise<void> => {
    await Promise.all(some.filter(isTracked).map(letGoOne))
  }

  const ownerOf = ({ metadata }: TrimmedPod) => {
    const owner = controllerOf(metadata)
    return owner?.kind === kind.kind ? owner : undefined
  }
  const isOwned = (pod: TrimmedPod): boolean => {
    const owner = ownerOf(pod)
    const job = owner && jobs.get({ namespace: pod.metadata.namespace, name: owner.name })
    return job !== undefined && job.metadata.uid === owner?.uid
  }
  const orphans = createLoopQueue({ clock, log, loop: 'job-controller', object: 'Pod' }, async (key) => {
    const [namespace = '', name = ''] = key.split('/')
    const pod = pods.get({ namespace, name })
    if (!pod || !isTracked(pod) || isOwned(pod)) return
    const owner = ownerOf(pod)
    const job = owner && (await client.get<Job>(jobsResource, { namespace, name: owner.name }).catch(ignoreNotFound))
    if (job?.metadata.uid !== owner?.uid || !owner) await letGo([pod])
  })
  const consider = (pod: TrimmedPod): void => {
    if (!isTracked(pod)) released.delete(pod.metadata.uid ?? '')
    else if (!isOwned(pod)) orphans.add(`${pod.metadata.namespace}/${pod.metadata.name}`)
  }
  pods.addHandler({
    onAdd: consider,
    onUpdate: consider,
    onDelete: ({ metadata }) => void released.delete(metadata.uid ?? ''),
  })
  jobs.addHandler({
    onDelete({ metadata }) {
      for (const pod of pods.byIndex('controller', metadata.uid ?? '')) consider(pod)
    },
  })
  return { released, letGo, close: () => orphans.close() }
}
