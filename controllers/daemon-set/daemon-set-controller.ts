import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import type { LabelSelector } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ControllerRevision, DaemonSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { controllerRevisions, daemonSets } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { PodOwners } from '../workloads/pod-owners.ts'
import { nextAvailableInMs } from '../workloads/pod-states.ts'
import { beyondLimit, currentRevision, hashOf, REVISION_HASH_LABEL } from '../workloads/revision-history.ts'
import { type DaemonInput, daemonSetStatus, outdated, pinned, placement, surging } from './daemon-pods.ts'
import { ReplacementDelays } from './replacement-delays.ts'

const kind = { apiVersion: 'apps/v1', kind: 'DaemonSet' }
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Keeps one pod of a DaemonSet on each of its nodes. Upstream: pkg/controller/daemon/daemon_controller.go. */
class DaemonSetController implements Controller {
  readonly #client: Client
  readonly #clock: Clock
  readonly #delays: ReplacementDelays
  readonly #sets: PodOwners<DaemonSet>
  readonly #revisions: Informer<ControllerRevision>
  readonly #nodes: Informer<TrimmedNode>

  constructor(context: ControllerContext) {
    const { client, informers, clock } = context
    this.#client = client
    this.#clock = clock
    this.#delays = new ReplacementDelays(clock)
    this.#sets = new PodOwners<DaemonSet>(context, {
      kind: { ...kind, resource: daemonSets },
      component: 'daemonset-controller',
      concurrency: 2,
      selectorOf: ({ spec }) => spec.selector,
      sync: (set, selector) => this.#sync(set, selector),
      onDelete: (set) => this.#delays.forget(set),
    })
    this.#revisions = informers.whole<ControllerRevision>(controllerRevisions)
    this.#nodes = informers.nodes()
    this.#nodes.addHandler({
      onAdd: () => this.#considerAll(),
      onUpdate: (node, old) => {
        const concern = ({ metadata, spec }: typeof node) => [metadata.labels, spec?.taints]
        if (!isDeepStrictEqual(concern(node), concern(old))) this.#considerAll()
      },
      onDelete: () => this.#considerAll(),
    })
  }

  close(): Promise<void> {
    return this.#sets.close()
  }

  async #sync(set: DaemonSet, selector: LabelSelector): Promise<void> {
    if (set.metadata.deletionTimestamp) return
    const isSettled = this.#sets.isSettled(set)
    const owned = await this.#sets.claim(set, selector)
    const history = this.#revisions.byIndex('controller', set.metadata.uid ?? '')
    const hash = hashOf(await currentRevision(set, history, { client: this.#client, kind }))
    const input = { set, nodes: [...this.#nodes.list()], pods: owned }
    try {
      if (isSettled) await this.#manage(input, hash)
    } finally {
      await this.#report(input, hash)
    }
    const inUse = new Set([hash, ...owned.map(({ metadata }) => metadata.labels?.[REVISION_HASH_LABEL] ?? '')])
    for (const { metadata } of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse })) {
      const ref = { namespace: set.metadata.namespace, name: metadata.name ?? '' }
      await this.#client.delete(controllerRevisions, ref).catch(ignoreNotFound)
    }
  }

  /** Returns false while a pod that has ended is to stay. */
  #mayReplace(set: DaemonSet, { spec }: TrimmedPod): boolean {
    const leftMs = this.#delays.leftMs(set, spec.nodeName ?? '')
    if (leftMs > 0) this.#sets.considerAfter(set, leftMs)
    return leftMs === 0
  }

  async #manage(input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = this.#clock.now()
    const { create, remove, ended } = placement(input, hash, nowMs)
    const waiting = ended.filter((pod) => !this.#mayReplace(set, pod))
    for (const pod of ended) {
      if (waiting.includes(pod)) continue
      const failed = pod.status?.phase === 'Failed'
      const words = `Found ${failed ? 'failed' : 'succeeded'} daemon pod ${pod.metadata.namespace}/${pod.metadata.name} on node ${pod.spec.nodeName}, will try to ${failed ? 'kill' : 'delete'} it`
      const reason = failed ? 'FailedDaemonPod' : 'SucceededDaemonPod'
      this.#sets.recorder.record({
        ...kind,
        regarding: set,
        type: failed ? 'Warning' : 'Normal',
        reason,
        message: words,
      })
    }
    const isPlaced = create.length + remove.length === 0
    const old = isPlaced ? outdated(input, hash, nowMs) : []
    const beside = isPlaced ? surging(input, hash, nowMs) : []
    const leaving = [
      ...remove.filter(({ pod }) => !waiting.includes(pod)),
      ...old.map((pod) => ({ pod, reason: reasonFor('DaemonSet', 'template changed, RollingUpdate') })),
    ]
    await Promise.all(leaving.map(({ pod, reason }) => this.#sets.remove(set, pod, reason)))
    try {
      await Promise.all([...create, ...beside].map((nodeName) => this.#createOn(set, nodeName, hash)))
    } catch (error) {
      if (!isNamespaceGoing(error)) throw error
    }
  }

  #createOn(set: DaemonSet, nodeName: string, hash: string): Promise<void> {
    return this.#sets.create(set, set.spec.template, (pod) => {
      pod.spec = pinned(pod.spec, nodeName, set)
      const generation = set.metadata.annotations?.[TEMPLATE_GENERATION]
      pod.metadata.labels = {
        ...pod.metadata.labels,
        [REVISION_HASH_LABEL]: hash,
        ...(generation && { 'pod-template-generation': generation }),
      }
    })
  }

  async #report(input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = this.#clock.now()
    const status = daemonSetStatus(input, hash, nowMs)
    if (!isDeepStrictEqual(status, set.status)) {
      await this.#client
        .update<DaemonSet>(daemonSets, { ...set, status }, { subresource: 'status' })
        .catch(ignoreNotFound)
    }
    const againInMs = nextAvailableInMs(input.pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (againInMs !== undefined) this.#sets.considerAfter(set, againInMs + 1)
  }

  #considerAll(): void {
    for (const set of this.#sets.all.list()) this.#sets.consider(set)
  }
}

export const startDaemonSetController = (context: ControllerContext): Controller => new DaemonSetController(context)
