import { isDeepStrictEqual } from 'node:util'
import { fromSelectorObject } from '../../shared/api/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { ReplicaSet } from '../../shared/api/workloads.ts'
import { pods as podsResource } from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import { type Reason, reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../trimmed-pod.ts'
import { claim } from '../workloads/claims.ts'
import { controllerOf } from '../workloads/ownership.ts'
import { createPodControl, isNamespaceGoing } from '../workloads/pod-control.ts'
import { PodExpectations } from '../workloads/pod-expectations.ts'
import { followPodOwners } from '../workloads/pod-owners.ts'
import { isActive, nextAvailableInMs } from '../workloads/pod-states.ts'
import { podsToDelete } from '../workloads/pods-to-delete.ts'
import { reasonsToShrink, SHRINKING } from '../workloads/shrink-reasons.ts'
import { slowStart } from '../workloads/slow-start.ts'
import type { Flavor } from './flavors.ts'
import { replicaSetStatus, type StatusInput } from './replica-set-status.ts'

/** At most so many pods are made or deleted at one look; upstream's BurstReplicas. */
const BURST = 500

/** Keeps as many pods as a ReplicaSet wants. Upstream: pkg/controller/replicaset/replica_set.go. */
export function startReplicaSetController(context: ControllerContext, flavor: Flavor): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: flavor.component })
  const control = createPodControl({ client, recorder, kind: flavor })
  const sets = informers.whole<ReplicaSet>(flavor.resource)
  const pods = informers.pods()
  const expectations = new PodExpectations({ clock, pods })

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const set = sets.get({ namespace, name })
    if (!set) return expectations.forget(key)
    const selector = fromSelectorObject(flavor.selectorOf(set))
    if (!selector) return
    const isSettled = expectations.satisfied(key)
    const all = await claim(set, selector, { client, resource: podsResource, informer: pods, kind: flavor })
    const active = all.filter(isActive)
    const failure = isSettled && !set.metadata.deletionTimestamp ? await manage(key, set, active) : undefined
    await report(key, { set, pods: active, all, failure, nowMs: clock.now() })
    if (failure) throw failure.error
  }

  async function manage(key: string, set: ReplicaSet, active: TrimmedPod[]): Promise<StatusInput['failure']> {
    const missing = (set.spec.replicas ?? 1) - active.length
    try {
      if (missing > 0) await slowStart(Math.min(missing, BURST), () => createOne(key, set))
      else if (missing < 0) await shrink(key, set, active, Math.min(-missing, BURST))
      return undefined
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined
      return { error, during: missing > 0 ? 'create' : 'delete' }
    }
  }

  async function createOne(key: string, set: ReplicaSet): Promise<void> {
    expectations.made(key, await control.create(set, set.spec.template))
  }

  async function shrink(key: string, set: ReplicaSet, active: TrimmedPod[], count: number): Promise<void> {
    const siblings = siblingsOf(set)
    const related = siblings.flatMap(({ metadata }) => pods.byIndex('controller', metadata.uid ?? '')).filter(isActive)
    const leaving = podsToDelete({ pods: active, count, related, nowMs: clock.now() })
    const reasons = reasonsOf(set, active.length)
    const outcomes = await Promise.allSettled(
      leaving.map((pod, index) => expectations.removing(key, pod, () => control.delete(set, pod, reasons[index]))),
    )
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }

  /** Of the pods that leave, in order. Only its owner knows why it is to shrink, if it has one. */
  function reasonsOf({ metadata, spec: { replicas: size = 1 } }: ReplicaSet, active: number): (Reason | undefined)[] {
    if (controllerOf(metadata)) return reasonsToShrink(metadata.annotations?.[SHRINKING], { active, size })
    return Array(active - size).fill(reasonFor(flavor.kind, 'scaled down'))
  }

  /** The sets of the same owner, this one included. */
  function siblingsOf(set: ReplicaSet): ReplicaSet[] {
    const owner = controllerOf(set.metadata)
    return owner ? sets.byIndex('controller', owner.uid) : [set]
  }

  async function report(key: string, input: StatusInput): Promise<void> {
    const { set, pods: active } = input
    const status = replicaSetStatus(input)
    const { [SHRINKING]: shrinking, ...annotations } = set.metadata.annotations ?? {}
    const hasShrunk = shrinking !== undefined && active.length <= (set.spec.replicas ?? 1)
    if (hasShrunk || !isDeepStrictEqual(status, set.status)) {
      const metadata = hasShrunk ? { ...set.metadata, annotations } : set.metadata
      await client
        .update<ReplicaSet>(flavor.resource, { ...set, metadata, status } as ReplicaSet, { subresource: 'status' })
        .catch(ignoreNotFound)
    }
    const againInMs = nextAvailableInMs(input.pods, set.spec.minReadySeconds ?? 0, input.nowMs)
    if (againInMs !== undefined) queue.addAfter(key, againInMs + 1)
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 5,
    work: sync,
    onError: (error, key) => log.debug({ err: error, [flavor.kind]: key }, 'pods will be looked at again'),
  })
  followPodOwners({
    owners: sets,
    pods,
    kind: flavor.kind,
    selectorOf: flavor.selectorOf,
    expectations,
    queue,
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}
