import { scaledValue } from '../../shared/api/quantities/int-or-percent.ts'
import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { Situation } from '../../shared/reasons/reason-table.ts'
import { DESIRED_REPLICAS, MAX_REPLICAS, revisionOf } from './revisions.ts'

/** Describes a new size for a ReplicaSet. */
export interface Step {
  set: ReplicaSet
  to: number
  /** Says why the set shrinks; absent if it grows. */
  situation?: Situation<'Deployment'>
}

export const sizeOf = ({ spec }: Pick<ReplicaSet, 'spec'>): number => spec.replicas ?? 1
const availableOf = ({ status }: ReplicaSet): number => status?.availableReplicas ?? 0
export const totalSize = (sets: readonly ReplicaSet[]): number => sets.reduce((sum, set) => sum + sizeOf(set), 0)
export const isActiveSet = (set: ReplicaSet): boolean => sizeOf(set) > 0

/**
 * Returns how many pods there may be above, and how many may be unavailable below, the wanted number during an update.
 * Upstream: ResolveFenceposts.
 */
function bounds({ spec }: Deployment): { surge: number; unavailable: number } {
  const { type, rollingUpdate } = spec.strategy ?? {}
  if (type !== 'RollingUpdate') return { surge: 0, unavailable: 0 }
  const wanted = spec.replicas ?? 1
  const surge = scaledValue(rollingUpdate?.maxSurge ?? 0, wanted, Math.ceil)
  const unavailable = scaledValue(rollingUpdate?.maxUnavailable ?? 0, wanted, Math.floor)
  // With both at 0, the update could not progress.
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

export const maxSurge = (deployment: Deployment): number => bounds(deployment).surge
export const maxUnavailable = (deployment: Deployment): number =>
  Math.min(bounds(deployment).unavailable, sizeOf(deployment))

/** Returns the size that the new set may have now. */
export function newSetSize(deployment: Deployment, all: readonly ReplicaSet[], current: number): number {
  const wanted = sizeOf(deployment)
  if (deployment.spec.strategy?.type === 'Recreate') return wanted
  const room = wanted + maxSurge(deployment) - totalSize(all)
  return room <= 0 ? current : current + Math.min(room, wanted - current)
}

const byCreation = (a: ReplicaSet, b: ReplicaSet): number =>
  parseTime(a.metadata.creationTimestamp ?? '') - parseTime(b.metadata.creationTimestamp ?? '') ||
  ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)

export const oldestFirst = (sets: readonly ReplicaSet[]): ReplicaSet[] => [...sets].sort(byCreation)

/**
 * Returns how old sets shrink in a rolling update: first by pods that are not available, then as long as enough pods
 * stay available. Upstream: reconcileOldReplicaSets in pkg/controller/deployment/rolling.go.
 */
export function shrinkOldSets(deployment: Deployment, old: readonly ReplicaSet[], fresh: ReplicaSet): Step[] {
  const all = [...old, fresh]
  const mustStay = sizeOf(deployment) - maxUnavailable(deployment)
  const mayGo = totalSize(all) - mustStay - (sizeOf(fresh) - availableOf(fresh))
  if (totalSize(old) === 0 || mayGo <= 0) return []
  const steps: Step[] = []
  const sizes = new Map(old.map((set) => [set, sizeOf(set)]))
  const shrink = (set: ReplicaSet, count: number): void => {
    const size = sizes.get(set) ?? 0
    if (count <= 0 || size === 0) return
    sizes.set(set, size - count)
    steps.push({ set, to: size - count, situation: 'template changed, RollingUpdate' })
  }
  let left = mayGo
  for (const set of oldestFirst(old)) {
    const count = Math.min(left, sizeOf(set) - availableOf(set))
    if (count <= 0) continue
    shrink(set, count)
    left -= count
  }
  let spare = all.reduce((sum, set) => sum + availableOf(set), 0) - mustStay
  for (const set of oldestFirst(old)) {
    const count = Math.min(spare, sizes.get(set) ?? 0)
    if (count <= 0) continue
    shrink(set, count)
    spare -= count
  }
  return steps
}

/**
 * Returns the new sizes of the sets after the deployment was resized or paused. If several sets have pods, all grow or
 * shrink in proportion. Upstream: scale in pkg/controller/deployment/sync.go.
 */
export function scaleSteps(deployment: Deployment, fresh: ReplicaSet | undefined, old: readonly ReplicaSet[]): Step[] {
  const wanted = sizeOf(deployment)
  const sets = fresh ? [...old, fresh] : [...old]
  const active = sets.filter(isActiveSet)
  const single = active.length > 1 ? undefined : (active[0] ?? fresh ?? oldestFirst(old).at(-1))
  if (single) return sizeOf(single) === wanted ? [] : [{ set: single, to: wanted, situation: 'scaled down' }]
  if (fresh && isSaturated(deployment, fresh)) {
    return old.filter(isActiveSet).map((set) => ({ set, to: 0, situation: 'template changed, RollingUpdate' }))
  }
  if (deployment.spec.strategy?.type !== 'RollingUpdate') return []
  const toAdd = (wanted > 0 ? wanted + maxSurge(deployment) : 0) - totalSize(active)
  const direction = toAdd > 0 ? -1 : 1
  const situation: Step['situation'] = deployment.spec.paused
    ? 'scaled down while paused'
    : 'scaled down in the middle of a rollout'
  const ordered = [...active].sort((a, b) => sizeOf(b) - sizeOf(a) || direction * byCreation(a, b))
  let added = 0
  const steps = ordered.map((set) => {
    const part = toAdd === 0 ? 0 : proportion(set, deployment, toAdd, added)
    added += part
    return { set, to: sizeOf(set) + part, situation }
  })
  const [first] = steps
  if (first) first.to = Math.max(0, first.to + toAdd - added)
  // Sets that keep their size are told the deployment's new one.
  return steps
}

const isSaturated = (deployment: Deployment, set: ReplicaSet): boolean =>
  [sizeOf(set), availableOf(set), Number(set.metadata.annotations?.[DESIRED_REPLICAS])].every(
    (count) => count === sizeOf(deployment),
  )

function proportion(set: ReplicaSet, deployment: Deployment, toAdd: number, added: number): number {
  if (toAdd === added) return 0
  const part = fraction(set, deployment)
  return toAdd > 0 ? Math.min(part, toAdd - added) : Math.max(part, toAdd - added)
}

function fraction(set: ReplicaSet, deployment: Deployment): number {
  const wanted = sizeOf(deployment)
  if (wanted === 0) return -sizeOf(set)
  const before = Number(set.metadata.annotations?.[MAX_REPLICAS] ?? deployment.status?.replicas ?? 0)
  if (before === 0) return 0
  return Math.round((sizeOf(set) * (wanted + maxSurge(deployment))) / before) - sizeOf(set)
}

/** Old sets beyond the history that is to be kept, oldest revision first; none that has pods. */
export function beyondHistory({ spec }: Deployment, old: readonly ReplicaSet[]): ReplicaSet[] {
  const limit = spec.revisionHistoryLimit ?? Number.POSITIVE_INFINITY
  const alive = old.filter(({ metadata }) => !metadata.deletionTimestamp)
  const surplus = Math.max(0, alive.length - limit)
  return [...alive]
    .sort((a, b) => Number(revisionOf(a) - revisionOf(b)) || byCreation(a, b))
    .slice(0, surplus === Number.POSITIVE_INFINITY ? 0 : surplus)
    .filter((set) => sizeOf(set) === 0 && !set.status?.replicas && isObserved(set))
}

const isObserved = ({ metadata, status }: ReplicaSet): boolean =>
  (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0)
