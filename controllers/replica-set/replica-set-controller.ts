import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { fromSelectorObject } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { pods as podsResource } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { createWorkQueue, type WorkQueue } from '../../shared/concurrency/work-queue.ts'
import { type Reason, reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { controllerOf } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { claim } from '../workloads/claims.ts'
import { createPodControl, type PodControl } from '../workloads/pod-control.ts'
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
class ReplicaSetController implements Controller {
  readonly #flavor: Flavor
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: EventRecorder
  readonly #control: PodControl
  readonly #sets: Informer<ReplicaSet>
  readonly #pods: Informer<TrimmedPod>
  readonly #expectations: PodExpectations
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext, flavor: Flavor) {
    this.#flavor = flavor
    const { client, informers, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: flavor.component })
    this.#control = createPodControl({ client, recorder: this.#recorder, kind: flavor })
    this.#sets = informers.whole<ReplicaSet>(flavor.resource)
    this.#pods = informers.pods()
    this.#expectations = new PodExpectations({ clock, pods: this.#pods })
    this.#queue = createWorkQueue<string>({
      clock,
      concurrency: 5,
      work: (key) => this.#sync(key),
      onError: tellFailures({ clock, log, loop: flavor.component, object: flavor.kind }),
    })
    followPodOwners({
      owners: this.#sets,
      pods: this.#pods,
      kind: flavor.kind,
      selectorOf: flavor.selectorOf,
      expectations: this.#expectations,
      queue: this.#queue,
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
    const selector = fromSelectorObject(this.#flavor.selectorOf(set))
    if (!selector) return
    const isSettled = this.#expectations.satisfied(key)
    const all = await claim(set, selector, {
      client: this.#client,
      resource: podsResource,
      informer: this.#pods,
      kind: this.#flavor,
    })
    const active = all.filter(isActive)
    const failure = isSettled && !set.metadata.deletionTimestamp ? await this.#manage(key, set, active) : undefined
    await this.#report(key, { set, pods: active, all, failure, nowMs: this.#clock.now() })
    if (failure) throw failure.error
  }

  async #manage(key: string, set: ReplicaSet, active: TrimmedPod[]): Promise<StatusInput['failure']> {
    const missing = (set.spec.replicas ?? 1) - active.length
    try {
      if (missing > 0) await slowStart(Math.min(missing, BURST), () => this.#createOne(key, set))
      else if (missing < 0) await this.#shrink(key, set, active, Math.min(-missing, BURST))
      return undefined
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined
      return { error, during: missing > 0 ? 'create' : 'delete' }
    }
  }

  async #createOne(key: string, set: ReplicaSet): Promise<void> {
    this.#expectations.made(key, await this.#control.create(set, set.spec.template))
  }

  async #shrink(key: string, set: ReplicaSet, active: TrimmedPod[], count: number): Promise<void> {
    const siblings = this.#siblingsOf(set)
    const related = siblings
      .flatMap(({ metadata }) => this.#pods.byIndex('controller', metadata.uid ?? ''))
      .filter(isActive)
    const leaving = podsToDelete({ pods: active, count, related, nowMs: this.#clock.now() })
    const reasons = this.#reasonsOf(set, active.length)
    const outcomes = await Promise.allSettled(
      leaving.map((pod, index) =>
        this.#expectations.removing(key, pod, () => this.#control.delete(set, pod, reasons[index])),
      ),
    )
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }

  /** Returns the reasons of the pods that leave, in order. An owner of the set alone knows why the set shrinks. */
  #reasonsOf({ metadata, spec: { replicas: size = 1 } }: ReplicaSet, active: number): (Reason | undefined)[] {
    if (controllerOf(metadata)) return reasonsToShrink(metadata.annotations?.[SHRINKING], { active, size })
    return Array(active - size).fill(reasonFor(this.#flavor.kind, 'scaled down'))
  }

  /** The sets of the same owner, this one included. */
  #siblingsOf(set: ReplicaSet): ReplicaSet[] {
    const owner = controllerOf(set.metadata)
    return owner ? this.#sets.byIndex('controller', owner.uid) : [set]
  }

  async #report(key: string, input: StatusInput): Promise<void> {
    const { set, pods: active } = input
    const status = replicaSetStatus(input)
    const { [SHRINKING]: shrinking, ...annotations } = set.metadata.annotations ?? {}
    const hasShrunk = shrinking !== undefined && active.length <= (set.spec.replicas ?? 1)
    if (hasShrunk || !isDeepStrictEqual(status, set.status)) {
      const metadata = hasShrunk ? { ...set.metadata, annotations } : set.metadata
      await this.#client
        .update<ReplicaSet>(this.#flavor.resource, { ...set, metadata, status } as ReplicaSet, {
          subresource: 'status',
        })
        .catch(ignoreNotFound)
    }
    const againInMs = nextAvailableInMs(input.pods, set.spec.minReadySeconds ?? 0, input.nowMs)
    if (againInMs !== undefined) this.#queue.addAfter(key, againInMs + 1)
  }
}

export const startReplicaSetController = (context: ControllerContext, flavor: Flavor): Controller =>
  new ReplicaSetController(context, flavor)
