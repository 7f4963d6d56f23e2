import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { fromSelectorObject } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ControllerRevision, StatefulSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import {
  controllerRevisions,
  persistentVolumeClaims,
  pods as podsResource,
  statefulSets,
} from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { createWorkQueue, type WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { claim } from '../workloads/claims.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { createPodControl, type PodControl, type Wording, wordsOf } from '../workloads/pod-control.ts'
import { PodExpectations } from '../workloads/pod-expectations.ts'
import { followPodOwners } from '../workloads/pod-owners.ts'
import { nextAvailableInMs } from '../workloads/pod-states.ts'
import { beyondLimit, currentRevision, templateOf } from '../workloads/revision-history.ts'
import { identify, identityLabels, ordinalOf } from './identity.ts'
import { planStatefulSet, revisionOf, type StatefulInput, sorted, statefulSetStatus } from './plan.ts'
import { createPodClaims, kind, type PodClaims } from './pod-claims.ts'

/** Revisions have this label; their pods carry the revision's name. */
const HASH_LABEL = 'controller.kubernetes.io/hash'

const words: Wording = ({ verb, owner, pod, error }) => {
  const what = `${verb} Pod ${pod} in StatefulSet ${owner.metadata.name}`
  return error === undefined ? `${what} successful` : `${what} failed error: ${wordsOf(error)}`
}

/** Keeps pods that have names, one by one. Upstream: pkg/controller/statefulset/stateful_set.go. */
class StatefulSetController implements Controller {
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: EventRecorder
  readonly #control: PodControl
  readonly #sets: Informer<StatefulSet>
  readonly #revisions: Informer<ControllerRevision>
  readonly #pods: Informer<TrimmedPod>
  readonly #expectations: PodExpectations
  readonly #podClaims: PodClaims
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext) {
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: 'statefulset-controller' })
    this.#control = createPodControl({ client, recorder: this.#recorder, kind, words })
    this.#sets = informers.whole<StatefulSet>(statefulSets)
    this.#revisions = informers.whole<ControllerRevision>(controllerRevisions)
    this.#pods = informers.pods()
    this.#expectations = new PodExpectations({ clock, pods: this.#pods })
    const claims = informers.metadata(persistentVolumeClaims)
    this.#podClaims = createPodClaims({ client, claims, pods: this.#pods, recorder: this.#recorder })
    this.#queue = createWorkQueue<string>({
      clock,
      concurrency: 5,
      work: (key) => this.#sync(key),
      onError: tellFailures({ clock, log, loop: 'statefulset-controller', object: 'StatefulSet' }),
    })
    const consider = followPodOwners({
      owners: this.#sets,
      pods: this.#pods,
      kind: kind.kind,
      selectorOf: ({ spec }) => spec.selector,
      expectations: this.#expectations,
      queue: this.#queue,
    })
    // A number whose claim was about to go waits for that.
    claims.addHandler({
      onDelete: ({ metadata }) => {
        for (const set of this.#sets.byIndex('namespace', metadata.namespace ?? ''))
          if (metadata.name?.includes(`-${set.metadata.name}-`)) consider(set)
      },
    })
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const set = this.#sets.get({ namespace, name })
    if (!set) return this.#expectations.forget(key)
    const selector = fromSelectorObject(set.spec.selector)
    if (!selector) return
    const isSettled = this.#expectations.satisfied(key)
    const owned = await claim(set, selector, {
      client: this.#client,
      resource: podsResource,
      informer: this.#pods,
      kind: { ...kind, resource: statefulSets },
      mayAdopt: (pod) => ordinalOf(pod, set) !== undefined,
    })
    const history = this.#revisions.byIndex('controller', set.metadata.uid ?? '')
    const newest = await currentRevision(set, history, { client: this.#client, kind, hashLabel: HASH_LABEL })
    const before = history.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? newest
    const input: StatefulInput = {
      set,
      pods: owned,
      current: before.metadata.name ?? '',
      update: newest.metadata.name ?? '',
      nowMs: this.#clock.now(),
    }
    try {
      if (isSettled) await this.#manage(key, input, [before, newest])
    } finally {
      await this.#report(key, input)
    }
    const inUse = new Set([input.current, input.update, ...owned.map(revisionOf)])
    const nameOf = ({ metadata }: ControllerRevision): string => metadata.name ?? ''
    for (const old of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse, nameOf }))
      await this.#client.delete(controllerRevisions, { namespace, name: nameOf(old) }).catch(ignoreNotFound)
  }

  async #manage(key: string, input: StatefulInput, known: readonly ControllerRevision[]): Promise<void> {
    const { set } = input
    if (set.metadata.deletionTimestamp) return
    const { create, remove } = planStatefulSet(input)
    await this.#keepIdentities(input)
    await Promise.all(
      remove.map(({ pod, reason }) =>
        this.#expectations.removing(key, pod, () => this.#control.delete(set, pod, reason)),
      ),
    )
    const templates = new Map(known.map((revision) => [revision.metadata.name ?? '', templateOf(revision)]))
    for (const { ordinal, revision } of create) {
      if (!(await this.#podClaims.ensure(set, ordinal))) continue
      try {
        const template = templates.get(revision) ?? set.spec.template
        const pod = await this.#control.create(set, template, (made) => identify(made, set, { ordinal, revision }))
        this.#expectations.made(key, pod)
      } catch (error) {
        if (!isNamespaceGoing(error)) throw error
      }
    }
  }

  /** Restores labels that were removed, missing claims, and owners of claims. */
  async #keepIdentities(input: StatefulInput): Promise<void> {
    const { set } = input
    const { replicas, condemned } = sorted(input)
    for (const [ordinal, pod] of replicas) {
      const { namespace, name = '' } = pod.metadata
      const labels = identityLabels(name, ordinal)
      if (Object.entries(labels).some(([label, value]) => pod.metadata.labels?.[label] !== value))
        await this.#client.patch(podsResource, { namespace, name }, { metadata: { labels } }).catch(ignoreNotFound)
      if (pod.status?.phase === 'Pending') await this.#podClaims.ensure(set, ordinal)
      await this.#podClaims.retain(set, ordinal, { pod, condemned: false })
    }
    for (const pod of condemned) await this.#podClaims.retain(set, ordinalOf(pod, set) ?? 0, { pod, condemned: true })
  }

  async #report(key: string, input: StatefulInput): Promise<void> {
    const { set, pods: owned, nowMs } = input
    const { replicas, collisionCount, availableReplicas, ...others } = statefulSetStatus(input)
    const status = {
      ...nonZero(others as Record<string, number | undefined>),
      replicas,
      collisionCount,
      availableReplicas,
    } as StatefulSet['status']
    if (!isDeepStrictEqual(status, set.status))
      await this.#client
        .update<StatefulSet>(statefulSets, { ...set, status }, { subresource: 'status' })
        .catch(ignoreNotFound)
    const againInMs = nextAvailableInMs(owned, set.spec.minReadySeconds ?? 0, nowMs)
    if (againInMs !== undefined) this.#queue.addAfter(key, againInMs + 1)
  }
}

export const startStatefulSetController = (context: ControllerContext): Controller => new StatefulSetController(context)
