import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { scaledValue } from '../../shared/api/quantities/int-or-percent.ts'
import type { StatefulSet } from '../../shared/api/workloads/workloads.ts'
import { type Reason, reasonFor } from '../../shared/reasons/reason-table.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isAvailable, isReady } from '../workloads/pod-states.ts'
import { REVISION_HASH_LABEL } from '../workloads/revision-history.ts'
import { ordinalOf, wantedOrdinals } from './identity.ts'

export interface StatefulInput {
  set: StatefulSet
  /** Lists all pods of the set, in any state. */
  pods: readonly TrimmedPod[]
  /** Names of the old revision and of the revision that pods should have. */
  current: string
  update: string
  nowMs: number
}

/** Lists the pods that one sync creates and deletes. */
export interface StatefulPlan {
  create: { ordinal: number; revision: string }[]
  remove: { pod: TrimmedPod; reason?: Reason }[]
}

/** Returns whether the pod runs and has been ready for long enough. Upstream: isRunningAndAvailable. */
export const isUp = (pod: TrimmedPod, { set, nowMs }: Pick<StatefulInput, 'set' | 'nowMs'>): boolean =>
  pod.status?.phase === 'Running' && isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)

const isLeaving = ({ metadata }: TrimmedPod): boolean => metadata.deletionTimestamp !== undefined
export const revisionOf = ({ metadata }: TrimmedPod): string => metadata.labels?.[REVISION_HASH_LABEL] ?? ''

/**
 * Splits the pods into those that should exist, by ordinal, and the surplus, the highest ordinal first. Pods whose name
 * is not the set's are left out.
 */
export function sorted({ set, pods }: Pick<StatefulInput, 'set' | 'pods'>): {
  replicas: Map<number, TrimmedPod>
  condemned: TrimmedPod[]
} {
  const wanted = new Set(wantedOrdinals(set))
  const numbered = pods.flatMap((pod) => {
    const ordinal = ordinalOf(pod, set)
    return ordinal === undefined ? [] : [{ ordinal, pod }]
  })
  return {
    replicas: new Map(numbered.filter(({ ordinal }) => wanted.has(ordinal)).map(({ ordinal, pod }) => [ordinal, pod])),
    condemned: numbered
      .filter(({ ordinal }) => !wanted.has(ordinal))
      .sort((a, b) => b.ordinal - a.ordinal)
      .map(({ pod }) => pod),
  }
}

/**
 * Plans which pods are created and deleted now. In order, each pod is created when all pods before it are available,
 * the highest surplus pod is deleted when all others are available, and only then are old pods replaced. In parallel,
 * only the replacing is in order. Pure; upstream: updateStatefulSet in stateful_set_control.go.
 */
export function planStatefulSet(input: StatefulInput): StatefulPlan {
  const { set } = input
  const plan: StatefulPlan = { create: [], remove: [] }
  if (isLeaving({ metadata: set.metadata } as TrimmedPod)) return plan
  const inOrder = set.spec.podManagementPolicy !== 'Parallel'
  const { replicas, condemned } = sorted(input)
  const isHealthy = (pod: TrimmedPod | undefined): boolean => pod !== undefined && isUp(pod, input) && !isLeaving(pod)
  for (const ordinal of wantedOrdinals(set)) {
    const pod = replicas.get(ordinal)
    if (!pod) plan.create.push({ ordinal, revision: revisionFor(ordinal, input) })
    // Whether it failed or succeeded, its ordinal needs another pod.
    else if (hasEnded(pod) && !isLeaving(pod)) plan.remove.push({ pod })
    else if (isHealthy(pod)) continue
    if (inOrder) return plan
  }
  const stays = wantedOrdinals(set).map((ordinal) => replicas.get(ordinal))
  const firstUnhealthy = [...stays, ...condemned.toReversed()].find((pod) => !isHealthy(pod))
  for (const pod of condemned) {
    const mayGo = !inOrder || isUp(pod, input) || pod === firstUnhealthy
    if (!isLeaving(pod) && mayGo) plan.remove.push({ pod, reason: reasonFor('StatefulSet', 'scaled down') })
    if (inOrder) return plan
  }
  if (set.spec.updateStrategy?.type !== 'OnDelete') plan.remove.push(...outdated(stays, input))
  return plan
}

/** A number below the partition gets what it had. Upstream: isCurrentRevisionNeeded. */
function revisionFor(ordinal: number, { set, current, update }: StatefulInput): string {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {}
  if (type === 'OnDelete') return update
  const start = set.spec.ordinals?.start ?? 0
  const kept = rollingUpdate ? (rollingUpdate.partition ?? 0) : (set.status?.currentReplicas ?? 0)
  return ordinal < start + kept ? current : update
}

/**
 * Pods of another revision that go now, from the highest down. Upstream: updateStatefulSet, and
 * updateStatefulSetAfterInvariantEstablished.
 */
function outdated(stays: readonly (TrimmedPod | undefined)[], input: StatefulInput): StatefulPlan['remove'] {
  const { set, update } = input
  const { partition = 0, maxUnavailable } = set.spec.updateStrategy?.rollingUpdate ?? {}
  const isDown = (pod: TrimmedPod | undefined): boolean => !pod || !isUp(pod, input) || isLeaving(pod)
  const isOld = (pod: TrimmedPod | undefined): pod is TrimmedPod =>
    pod !== undefined && !isLeaving(pod) && revisionOf(pod) !== update
  const reason = reasonFor('StatefulSet', 'template changed, RollingUpdate')
  const fromTop = stays.slice(partition).toReversed()
  if (maxUnavailable === undefined) {
    // One, also if it is down itself; none while one above it is.
    const next = fromTop.find((pod) => isOld(pod) || isDown(pod))
    return isOld(next) ? [{ pod: next, reason }] : []
  }
  const mayGo = atMost(maxUnavailable, stays.length) - stays.filter(isDown).length
  return fromTop
    .filter(isOld)
    .slice(0, Math.max(0, mayGo))
    .map((pod) => ({ pod, reason }))
}

/** A number, or a percentage rounded down; at least one. */
const atMost = (value: number | string, replicas: number): number =>
  Math.max(1, scaledValue(value, replicas, Math.floor))

/**
 * Returns the status of a StatefulSet. Upstream: computeReplicaStatus, and completeRollingUpdate in
 * stateful_set_utils.go.
 */
export function statefulSetStatus(input: StatefulInput): NonNullable<StatefulSet['status']> {
  const { set, pods, current, update } = input
  const count = (holds: (pod: TrimmedPod) => boolean): number => pods.filter(holds).length
  const isReadyNow = (pod: TrimmedPod): boolean => pod.status?.phase === 'Running' && isReady(pod)
  const ofRevision = (revision: string): number => count((pod) => !isLeaving(pod) && revisionOf(pod) === revision)
  const wanted = set.spec.replicas ?? 1
  const status = {
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    readyReplicas: count(isReadyNow),
    availableReplicas: count((pod) => isUp(pod, input)),
    currentReplicas: ofRevision(current),
    updatedReplicas: ofRevision(update),
    currentRevision: current,
    updateRevision: update,
    collisionCount: set.status?.collisionCount ?? 0,
  }
  const isComplete =
    set.spec.updateStrategy?.type !== 'OnDelete' &&
    status.updatedReplicas === status.replicas &&
    status.readyReplicas === status.replicas &&
    status.replicas === wanted
  return isComplete ? { ...status, currentReplicas: status.updatedReplicas, currentRevision: update } : status
}
