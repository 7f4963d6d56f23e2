import { isDeepStrictEqual } from 'node:util'
import { fromSelectorObject } from '../../shared/api/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { ControllerRevision, DaemonSet } from '../../shared/api/workloads.ts'
import { controllerRevisions, daemonSets, pods as podsResource } from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../trimmed-pod.ts'
import { claim } from '../workloads/claims.ts'
import { createPodControl, isNamespaceGoing } from '../workloads/pod-control.ts'
import { PodExpectations } from '../workloads/pod-expectations.ts'
import { followPodOwners } from '../workloads/pod-owners.ts'
import { nextAvailableInMs } from '../workloads/pod-states.ts'
import { beyondLimit, currentRevision, hashOf, REVISION_HASH_LABEL } from '../workloads/revision-history.ts'
import { type DaemonInput, daemonSetStatus, outdated, pinned, placement, surging } from './daemon-pods.ts'
import { ReplacementDelays } from './replacement-delays.ts'

const kind = { apiVersion: 'apps/v1', kind: 'DaemonSet' }
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Keeps one pod of a DaemonSet on each of its nodes. Upstream: pkg/controller/daemon/daemon_controller.go. */
export function startDaemonSetController({ client, informers, clock, log }: ControllerContext): Controller {
  const recorder = createEventRecorder({ client, clock, log, component: 'daemonset-controller' })
  const control = createPodControl({ client, recorder, kind })
  const delays = new ReplacementDelays(clock)
  const sets = informers.whole<DaemonSet>(daemonSets)
  const revisions = informers.whole<ControllerRevision>(controllerRevisions)
  const pods = informers.pods()
  const expectations = new PodExpectations({ clock, pods })
  const nodes = informers.nodes()

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const set = sets.get({ namespace, name })
    if (!set) return expectations.forget(key)
    const selector = fromSelectorObject(set.spec.selector)
    if (!selector || set.metadata.deletionTimestamp) return
    const isSettled = expectations.satisfied(key)
    const options = { client, resource: podsResource, informer: pods, kind: { ...kind, resource: daemonSets } }
    const owned = await claim(set, selector, options)
    const history = revisions.byIndex('controller', set.metadata.uid ?? '')
    const hash = hashOf(await currentRevision(set, history, { client, kind }))
    const input = { set, nodes: [...nodes.list()], pods: owned }
    try {
      if (isSettled) await manage(key, input, hash)
    } finally {
      await report(key, input, hash)
    }
    const inUse = new Set([hash, ...owned.map(({ metadata }) => metadata.labels?.[REVISION_HASH_LABEL] ?? '')])
    for (const { metadata } of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse })) {
      await client.delete(controllerRevisions, { namespace, name: metadata.name ?? '' }).catch(ignoreNotFound)
    }
  }

  /** False while a pod that has ended is to stay for a while. */
  function mayReplace(key: string, set: DaemonSet, { spec }: TrimmedPod): boolean {
    const leftMs = delays.leftMs(set, spec.nodeName ?? '')
    if (leftMs > 0) queue.addAfter(key, leftMs)
    return leftMs === 0
  }

  async function manage(key: string, input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = clock.now()
    const { create, remove, ended } = placement(input, hash, nowMs)
    const waiting = ended.filter((pod) => !mayReplace(key, set, pod))
    for (const pod of ended) {
      if (waiting.includes(pod)) continue
      const failed = pod.status?.phase === 'Failed'
      const words = `Found ${failed ? 'failed' : 'succeeded'} daemon pod ${pod.metadata.namespace}/${pod.metadata.name} on node ${pod.spec.nodeName}, will try to ${failed ? 'kill' : 'delete'} it`
      const reason = failed ? 'FailedDaemonPod' : 'SucceededDaemonPod'
      recorder.record({ ...kind, regarding: set, type: failed ? 'Warning' : 'Normal', reason, message: words })
    }
    const isPlaced = create.length + remove.length === 0
    const old = isPlaced ? outdated(input, hash, nowMs) : []
    const beside = isPlaced ? surging(input, hash, nowMs) : []
    const leaving = [
      ...remove.filter(({ pod }) => !waiting.includes(pod)),
      ...old.map((pod) => ({ pod, reason: reasonFor('DaemonSet', 'template changed, RollingUpdate') })),
    ]
    await Promise.all(
      leaving.map(({ pod, reason }) => expectations.removing(key, pod, () => control.delete(set, pod, reason))),
    )
    await Promise.all([...create, ...beside].map((nodeName) => createOn(key, set, nodeName, hash))).catch((error) => {
      if (!isNamespaceGoing(error)) throw error
    })
  }

  async function createOn(key: string, set: DaemonSet, nodeName: string, hash: string): Promise<void> {
    const made = await control.create(set, set.spec.template, (pod) => {
      pod.spec = pinned(pod.spec, nodeName, set)
      const generation = set.metadata.annotations?.[TEMPLATE_GENERATION]
      pod.metadata.labels = {
        ...pod.metadata.labels,
        [REVISION_HASH_LABEL]: hash,
        ...(generation && { 'pod-template-generation': generation }),
      }
    })
    expectations.made(key, made)
  }

  async function report(key: string, input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = clock.now()
    const status = daemonSetStatus(input, hash, nowMs)
    if (!isDeepStrictEqual(status, set.status)) {
      await client.update<DaemonSet>(daemonSets, { ...set, status }, { subresource: 'status' }).catch(ignoreNotFound)
    }
    const againInMs = nextAvailableInMs(input.pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (againInMs !== undefined) queue.addAfter(key, againInMs + 1)
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 2,
    work: sync,
    onError: (error, key) => log.debug({ err: error, daemonSet: key }, 'daemons will be looked at again'),
  })
  const consider = followPodOwners({
    owners: sets,
    pods,
    kind: kind.kind,
    selectorOf: ({ spec }) => spec.selector,
    expectations,
    queue,
    onDelete: (set) => delays.forget(set),
  })
  const considerAll = (): void => {
    for (const set of sets.list()) consider(set)
  }
  nodes.addHandler({
    onAdd: considerAll,
    onUpdate(node, old) {
      const concern = ({ metadata, spec }: typeof node) => [metadata.labels, spec?.taints]
      if (!isDeepStrictEqual(concern(node), concern(old))) considerAll()
    },
    onDelete: considerAll,
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}
