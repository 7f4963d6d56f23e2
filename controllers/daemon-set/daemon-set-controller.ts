import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { fromSelectorObject } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ControllerRevision, DaemonSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { controllerRevisions, daemonSets, pods as podsResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { createWorkQueue, type WorkQueue } from '../../shared/concurrency/work-queue.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { claim } from '../workloads/claims.ts'
import { createPodControl, type PodControl } from '../workloads/pod-control.ts'
import { PodExpectations } from '../workloads/pod-expectations.ts'
import { followPodOwners } from '../workloads/pod-owners.ts'
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
  readonly #recorder: EventRecorder
  readonly #control: PodControl
  readonly #delays: ReplacementDelays
  readonly #sets: Informer<DaemonSet>
  readonly #revisions: Informer<ControllerRevision>
  readonly #pods: Informer<TrimmedPod>
  readonly #expectations: PodExpectations
  readonly #nodes: Informer<TrimmedNode>
  readonly #queue: WorkQueue<string>
  readonly #consider: (owner: DaemonSet) => void

  constructor({ client, informers, clock, log }: ControllerContext) {
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: 'daemonset-controller' })
    this.#control = createPodControl({ client, recorder: this.#recorder, kind })
    this.#delays = new ReplacementDelays(clock)
    this.#sets = informers.whole<DaemonSet>(daemonSets)
    this.#revisions = informers.whole<ControllerRevision>(controllerRevisions)
    this.#pods = informers.pods()
    this.#expectations = new PodExpectations({ clock, pods: this.#pods })
    this.#nodes = informers.nodes()
    this.#queue = createWorkQueue<string>({
      clock,
      concurrency: 2,
      work: (key) => this.#sync(key),
      onError: tellFailures({ clock, log, loop: 'daemonset-controller', object: 'DaemonSet' }),
    })
    this.#consider = followPodOwners({
      owners: this.#sets,
      pods: this.#pods,
      kind: kind.kind,
      selectorOf: ({ spec }) => spec.selector,
      expectations: this.#expectations,
      queue: this.#queue,
      onDelete: (set) => this.#delays.forget(set),
    })
    this.#nodes.addHandler({
      onAdd: () => this.#considerAll(),
      onUpdate: (node, old) => {
        const concern = ({ metadata, spec }: typeof node) => [metadata.labels, spec?.taints]
        if (!isDeepStrictEqual(concern(node), concern(old))) this.#considerAll()
      },
      onDelete: () => this.#considerAll(),
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
    if (!selector || set.metadata.deletionTimestamp) return
    const isSettled = this.#expectations.satisfied(key)
    const options = {
      client: this.#client,
      resource: podsResource,
      informer: this.#pods,
      kind: { ...kind, resource: daemonSets },
    }
    const owned = await claim(set, selector, options)
    const history = this.#revisions.byIndex('controller', set.metadata.uid ?? '')
    const hash = hashOf(await currentRevision(set, history, { client: this.#client, kind }))
    const input = { set, nodes: [...this.#nodes.list()], pods: owned }
    try {
      if (isSettled) await this.#manage(key, input, hash)
    } finally {
      await this.#report(key, input, hash)
    }
    const inUse = new Set([hash, ...owned.map(({ metadata }) => metadata.labels?.[REVISION_HASH_LABEL] ?? '')])
    for (const { metadata } of beyondLimit(history, { limit: set.spec.revisionHistoryLimit, inUse })) {
      await this.#client.delete(controllerRevisions, { namespace, name: metadata.name ?? '' }).catch(ignoreNotFound)
    }
  }

  /** False while a pod that has ended is to stay for a while. */
  #mayReplace(key: string, set: DaemonSet, { spec }: TrimmedPod): boolean {
    const leftMs = this.#delays.leftMs(set, spec.nodeName ?? '')
    if (leftMs > 0) this.#queue.addAfter(key, leftMs)
    return leftMs === 0
  }

  async #manage(key: string, input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = this.#clock.now()
    const { create, remove, ended } = placement(input, hash, nowMs)
    const waiting = ended.filter((pod) => !this.#mayReplace(key, set, pod))
    for (const pod of ended) {
      if (waiting.includes(pod)) continue
      const failed = pod.status?.phase === 'Failed'
      const words = `Found ${failed ? 'failed' : 'succeeded'} daemon pod ${pod.metadata.namespace}/${pod.metadata.name} on node ${pod.spec.nodeName}, will try to ${failed ? 'kill' : 'delete'} it`
      const reason = failed ? 'FailedDaemonPod' : 'SucceededDaemonPod'
      this.#recorder.record({ ...kind, regarding: set, type: failed ? 'Warning' : 'Normal', reason, message: words })
    }
    const isPlaced = create.length + remove.length === 0
    const old = isPlaced ? outdated(input, hash, nowMs) : []
    const beside = isPlaced ? surging(input, hash, nowMs) : []
    const leaving = [
      ...remove.filter(({ pod }) => !waiting.includes(pod)),
      ...old.map((pod) => ({ pod, reason: reasonFor('DaemonSet', 'template changed, RollingUpdate') })),
    ]
    await Promise.all(
      leaving.map(({ pod, reason }) =>
        this.#expectations.removing(key, pod, () => this.#control.delete(set, pod, reason)),
      ),
    )
    await Promise.all([...create, ...beside].map((nodeName) => this.#createOn(key, set, nodeName, hash))).catch(
      (error) => {
        if (!isNamespaceGoing(error)) throw error
      },
    )
  }

  async #createOn(key: string, set: DaemonSet, nodeName: string, hash: string): Promise<void> {
    const made = await this.#control.create(set, set.spec.template, (pod) => {
      pod.spec = pinned(pod.spec, nodeName, set)
      const generation = set.metadata.annotations?.[TEMPLATE_GENERATION]
      pod.metadata.labels = {
        ...pod.metadata.labels,
        [REVISION_HASH_LABEL]: hash,
        ...(generation && { 'pod-template-generation': generation }),
      }
    })
    this.#expectations.made(key, made)
  }

  async #report(key: string, input: DaemonInput, hash: string): Promise<void> {
    const { set } = input
    const nowMs = this.#clock.now()
    const status = daemonSetStatus(input, hash, nowMs)
    if (!isDeepStrictEqual(status, set.status)) {
      await this.#client
        .update<DaemonSet>(daemonSets, { ...set, status }, { subresource: 'status' })
        .catch(ignoreNotFound)
    }
    const againInMs = nextAvailableInMs(input.pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (againInMs !== undefined) this.#queue.addAfter(key, againInMs + 1)
  }

  #considerAll(): void {
    for (const set of this.#sets.list()) this.#consider(set)
  }
}

export const startDaemonSetController = (context: ControllerContext): Controller => new DaemonSetController(context)
