import { isDeepStrictEqual } from 'node:util'
import { fromSelectorObject } from '../../shared/api/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { ControllerRevision, StatefulSet } from '../../shared/api/workloads.ts'
import {
  controllerRevisions,
  persistentVolumeClaims,
  pods as podsResource,
  statefulSets,
} from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { claim } from '../workloads/claims.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { createPodControl, isNamespaceGoing, type Wording, wordsOf } from '../workloads/pod-control.ts'
import { PodExpectations } from '../workloads/pod-expectations.ts'
import { followPodOwners } from '../workloads/pod-owners.ts'
import { nextAvailableInMs } from '../workloads/pod-states.ts'
import { beyondLimit, currentRevision, templateOf } from '../workloads/revision-history.ts'
import { identify, identityLabels, ordinalOf } from './identity.ts'
import { planStatefulSet, revisionOf, type StatefulInput, sorted, statefulSetStatus } from './plan.ts'
import { createPodClaims, kind } from './pod-claims.ts'

/** On revisions; their pods carry the revision's name. */
const HASH_LABEL = 'controller.kubernetes.io/hash'

const words: Wording = ({ verb, owner, pod, error }) => {
  const what = `${verb} Pod ${pod} in StatefulSet ${owner.metadata.name}`
  return error === undefined ? `${what} successful` : `${what} failed error: ${wordsOf(error)}`
}

/** Keeps pods that have names, one by one. Upstream: pkg/controller/statefulset/stateful_set.go. */
export function startStatefulSetController({ client, informers, clock, log }: ControllerContext): Controller {
  const recorder = createEventRecorder({ client, clock, log, component: 'statefulset-controller' })
  const control = createPodControl({ client, recorder, kind, words })
  const sets = informers.whole<StatefulSet>(statefulSets)
  const revisions = informers.whole<ControllerRevision>(controllerRevisions)
  const pods = informers.pods()
  const expectations = new PodExpectations({ clock, pods })
  const claims = informers.metadata(persistentVolumeClaims)
  const podClaims = createPodClaims({ client, claims, pods, recorder })

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const set = sets.get({ namespace, name })
    if (!set) return expectations.forget(key)
    const selector = fromSelectorObject(set.spec.selector)
    if (!selector) return
    const isSettled = expectations.satisfied(key)
    const owned = await claim(set, selector, {
      client,
      resource: podsResource,
      informer: pods,
      kind: { ...kind, resource: statefulSets },
      mayAdopt: (pod) => ordinalOf(pod, set) !== undefined,
    })
    const history = revisions.byIndex('controller', set.metadata.uid ?? '')
    const newest = await currentRevision(set, history, { client, kind, hashLabel: HASH_LABEL })
    const before = history.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? newest
    const input: StatefulInput = {
      set,
      pods: owned,
      current: before.metadata.name ?? '',
      update: newest.metadata.name ?? '',
      nowMs: clock.now(),
    }
    try {
      if (isSettled) await manage(key, input, [before, newest])
    } finally {
      await report(key, input)
    }
    const inUse = new Set([input.current, input.update, ...owned.map(revisionOf)])
    const nameOf = ({ metadata }: ControllerRevision): string => metadata.name ?? ''
    for (const old of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse, nameOf }))
      await client.delete(controllerRevisions, { namespace, name: nameOf(old) }).catch(ignoreNotFound)
  }

  async function manage(key: string, input: StatefulInput, known: readonly ControllerRevision[]): Promise<void> {
    const { set } = input
    if (set.metadata.deletionTimestamp) return
    const { create, remove } = planStatefulSet(input)
    await keepIdentities(input)
    await Promise.all(
      remove.map(({ pod, reason }) => expectations.removing(key, pod, () => control.delete(set, pod, reason))),
    )
    const templates = new Map(known.map((revision) => [revision.metadata.name ?? '', templateOf(revision)]))
    for (const { ordinal, revision } of create) {
      if (!(await podClaims.ensure(set, ordinal))) continue
      try {
        const template = templates.get(revision) ?? set.spec.template
        const pod = await control.create(set, template, (made) => identify(made, set, { ordinal, revision }))
        expectations.made(key, pod)
      } catch (error) {
        if (!isNamespaceGoing(error)) throw error
      }
    }
  }

  /** Restores labels that were removed, missing claims, and owners of claims. */
  async function keepIdentities(input: StatefulInput): Promise<void> {
    const { set } = input
    const { replicas, condemned } = sorted(input)
    for (const [ordinal, pod] of replicas) {
      const { namespace, name = '' } = pod.metadata
      const labels = identityLabels(name, ordinal)
      if (Object.entries(labels).some(([label, value]) => pod.metadata.labels?.[label] !== value))
        await client.patch(podsResource, { namespace, name }, { metadata: { labels } }).catch(ignoreNotFound)
      if (pod.status?.phase === 'Pending') await podClaims.ensure(set, ordinal)
      await podClaims.retain(set, ordinal, { pod, condemned: false })
    }
    for (const pod of condemned) await podClaims.retain(set, ordinalOf(pod, set) ?? 0, { pod, condemned: true })
  }

  async function report(key: string, input: StatefulInput): Promise<void> {
    const { set, pods: owned, nowMs } = input
    const { replicas, collisionCount, availableReplicas, ...others } = statefulSetStatus(input)
    const status = {
      ...nonZero(others as Record<string, number | undefined>),
      replicas,
      collisionCount,
      availableReplicas,
    } as StatefulSet['status']
    if (!isDeepStrictEqual(status, set.status))
      await client
        .update<StatefulSet>(statefulSets, { ...set, status }, { subresource: 'status' })
        .catch(ignoreNotFound)
    const againInMs = nextAvailableInMs(owned, set.spec.minReadySeconds ?? 0, nowMs)
    if (againInMs !== undefined) queue.addAfter(key, againInMs + 1)
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 5,
    work: sync,
    onError: (error, key) => log.debug({ err: error, statefulSet: key }, 'pods will be looked at again'),
  })
  const consider = followPodOwners({
    owners: sets,
    pods,
    kind: kind.kind,
    selectorOf: ({ spec }) => spec.selector,
    expectations,
    queue,
  })
  // A number whose claim was about to go waits for that.
  claims.addHandler({
    onDelete({ metadata }) {
      for (const set of sets.byIndex('namespace', metadata.namespace ?? ''))
        if (metadata.name?.includes(`-${set.metadata.name}-`)) consider(set)
    },
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}
