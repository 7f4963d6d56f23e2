import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import type { LabelSelector } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Reason, reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { controllerOf } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { PodOwners } from '../workloads/pod-owners.ts'
import { isActive, nextAvailableInMs } from '../workloads/pod-states.ts'
import { podsToDelete } from '../workloads/pods-to-delete.ts'
import { reasonsToShrink, SHRINKING } from '../workloads/shrink-reasons.ts'
import { slowStart } from '../workloads/slow-start.ts'
import type { Flavor } from './flavors.ts'
import { replicaSetStatus, type StatusInput } from './replica-set-status.ts'

/** Limits how many pods are made or deleted at one look; upstream's BurstReplicas. */
const BURST = 500

/** Keeps as many pods as a ReplicaSet wants. Upstream: pkg/controller/replicaset/replica_set.go. */
class ReplicaSetController implements Controller {
  readonly #flavor: Flavor
  readonly #client: Client
  readonly #clock: Clock
  readonly #sets: PodOwners<ReplicaSet>

  constructor(context: ControllerContext, flavor: Flavor) {
    this.#flavor = flavor
    this.#client = context.client
    this.#clock = context.clock
    const { component, selectorOf } = flavor
    const sync = (set: ReplicaSet, selector: LabelSelector) => this.#sync(set, selector)
    this.#sets = new PodOwners<ReplicaSet>(context, { kind: flavor, component, selectorOf, sync })
  }

  close(): Promise<void> {
    return this.#sets.close()
  }

  async #sync(set: ReplicaSet, selector: LabelSelector): Promise<void> {
    const isSettled = this.#sets.isSettled(set)
    const all = await this.#sets.claim(set, selector)
    const active = all.filter(isActive)
    const failure = isSettled && !set.metadata.deletionTimestamp ? await this.#manage(set, active) : undefined
    await this.#report({ set, pods: active, all, failure, nowMs: this.#clock.now() })
    if (failure) throw failure.error
  }

  async #manage(set: ReplicaSet, active: TrimmedPod[]): Promise<StatusInput['failure']> {
    const missing = (set.spec.replicas ?? 1) - active.length
    try {
      if (missing > 0) await slowStart(Math.min(missing, BURST), () => this.#sets.create(set, set.spec.template))
      else if (missing < 0) await this.#shrink(set, active, Math.min(-missing, BURST))
      return undefined
    } catch (error) {
      if (isNamespaceGoing(error)) return undefined
      return { error, during: missing > 0 ? 'create' : 'delete' }
    }
  }

  async #shrink(set: ReplicaSet, active: TrimmedPod[], count: number): Promise<void> {
    const siblings = this.#siblingsOf(set)
    const related = siblings
      .flatMap(({ metadata }) => this.#sets.pods.byIndex('controller', metadata.uid ?? ''))
      .filter(isActive)
    const leaving = podsToDelete({ pods: active, count, related, nowMs: this.#clock.now() })
    const reasons = this.#reasonsOf(set, active.length)
    const outcomes = await Promise.allSettled(leaving.map((pod, index) => this.#sets.remove(set, pod, reasons[index])))
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
    return owner ? this.#sets.all.byIndex('controller', owner.uid) : [set]
  }

  async #report(input: StatusInput): Promise<void> {
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
    if (againInMs !== undefined) this.#sets.considerAfter(set, againInMs + 1)
  }
}

export const startReplicaSetController = (context: ControllerContext, flavor: Flavor): Controller =>
  new ReplicaSetController(context, flavor)
