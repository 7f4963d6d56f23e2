import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import type { LabelSelector } from '../../shared/api/selectors/label-selector.ts'
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
import type { Controller, ControllerContext } from '../controller.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { type Wording, wordsOf } from '../workloads/pod-control.ts'
import { PodOwners } from '../workloads/pod-owners.ts'
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
  readonly #sets: PodOwners<StatefulSet>
  readonly #revisions: Informer<ControllerRevision>
  readonly #podClaims: PodClaims

  constructor(context: ControllerContext) {
    const { client, informers, clock } = context
    this.#client = client
    this.#clock = clock
    this.#sets = new PodOwners<StatefulSet>(context, {
      kind: { ...kind, resource: statefulSets },
      component: 'statefulset-controller',
      words,
      selectorOf: ({ spec }) => spec.selector,
      sync: (set, selector) => this.#sync(set, selector),
    })
    const { pods, recorder } = this.#sets
    this.#revisions = informers.whole<ControllerRevision>(controllerRevisions)
    const claims = informers.metadata(persistentVolumeClaims)
    this.#podClaims = createPodClaims({ client, claims, pods, recorder })
    // A number whose claim was about to go waits for that.
    claims.addHandler({
      onDelete: ({ metadata }) => {
        for (const set of this.#sets.all.byIndex('namespace', metadata.namespace ?? ''))
          if (metadata.name?.includes(`-${set.metadata.name}-`)) this.#sets.consider(set)
      },
    })
  }

  close(): Promise<void> {
    return this.#sets.close()
  }

  async #sync(set: StatefulSet, selector: LabelSelector): Promise<void> {
    const isSettled = this.#sets.isSettled(set)
    const owned = await this.#sets.claim(set, selector, (pod) => ordinalOf(pod, set) !== undefined)
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
      if (isSettled) await this.#manage(input, [before, newest])
    } finally {
      await this.#report(input)
    }
    const inUse = new Set([input.current, input.update, ...owned.map(revisionOf)])
    const nameOf = ({ metadata }: ControllerRevision): string => metadata.name ?? ''
    for (const old of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse, nameOf }))
      await this.#client
        .delete(controllerRevisions, { namespace: set.metadata.namespace, name: nameOf(old) })
        .catch(ignoreNotFound)
  }

  async #manage(input: StatefulInput, known: readonly ControllerRevision[]): Promise<void> {
    const { set } = input
    if (set.metadata.deletionTimestamp) return
    const { create, remove } = planStatefulSet(input)
    await this.#keepIdentities(input)
    await Promise.all(remove.map(({ pod, reason }) => this.#sets.remove(set, pod, reason)))
    const templates = new Map(known.map((revision) => [revision.metadata.name ?? '', templateOf(revision)]))
    for (const { ordinal, revision } of create) {
      if (!(await this.#podClaims.ensure(set, ordinal))) continue
      try {
        const template = templates.get(revision) ?? set.spec.template
        await this.#sets.create(set, template, (pod) => identify(pod, set, { ordinal, revision }))
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

  async #report(input: StatefulInput): Promise<void> {
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
    if (againInMs !== undefined) this.#sets.considerAfter(set, againInMs + 1)
  }
}

export const startStatefulSetController = (context: ControllerContext): Controller => new StatefulSetController(context)
