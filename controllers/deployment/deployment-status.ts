import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import { type Condition, findCondition, withoutCondition } from '../workloads/conditions.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { maxUnavailable, sizeOf, totalSize } from './sizes.ts'

export type DeploymentStatus = NonNullable<Deployment['status']>
type DeploymentCondition = NonNullable<DeploymentStatus['conditions']>[number]

const PROGRESSES = 'ReplicaSetUpdated'
/** Upstream's "never". */
const NO_DEADLINE = 2 ** 31 - 1

/** Counts, and whether enough are available. Upstream: calculateStatus in pkg/controller/deployment/sync.go. */
export function deploymentStatus(
  deployment: Deployment,
  { all, fresh, nowMs }: { all: readonly ReplicaSet[]; fresh?: ReplicaSet; nowMs: number },
): DeploymentStatus {
  const sum = (count: (status: NonNullable<ReplicaSet['status']>) => number | undefined): number =>
    all.reduce((total, { status }) => total + ((status && count(status)) ?? 0), 0)
  const available = sum(({ availableReplicas }) => availableReplicas)
  const { metadata, status } = deployment
  const enough = available >= sizeOf(deployment) - maxUnavailable(deployment)
  const condition = enough
    ? ['True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.']
    : ['False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.']
  const [state = '', reason = '', message = ''] = condition
  return {
    ...nonZero({
      observedGeneration: metadata.generation,
      replicas: sum(({ replicas }) => replicas),
      updatedReplicas: fresh?.status?.replicas,
      readyReplicas: sum(({ readyReplicas }) => readyReplicas),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, totalSize(all) - available),
    }),
    terminatingReplicas: sum(({ terminatingReplicas }) => terminatingReplicas),
    ...(status?.collisionCount !== undefined && { collisionCount: status.collisionCount }),
    conditions: withDeploymentCondition(
      status?.conditions,
      { type: 'Available', status: state, reason, message },
      nowMs,
    ),
  }
}

/**
 * Returns the deployment's status, including the conditions Progressing and ReplicaFailure. Upstream:
 * pkg/controller/deployment/progress.go.
 */
export function rolloutStatus(
  deployment: Deployment,
  { all, fresh, nowMs }: { all: readonly ReplicaSet[]; fresh?: ReplicaSet; nowMs: number },
): DeploymentStatus {
  const status = deploymentStatus(deployment, { all, fresh, nowMs })
  const progress = progressOf(deployment, status, fresh, nowMs)
  if (!hasDeadline(deployment)) status.conditions = withoutCondition(status.conditions, 'Progressing')
  else if (progress) status.conditions = withDeploymentCondition(status.conditions, progress, nowMs)
  const failure = failureOf(all, fresh)
  status.conditions = failure
    ? withDeploymentCondition(status.conditions, failure, nowMs)
    : withoutCondition(status.conditions, 'ReplicaFailure')
  return status
}

type NewCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Returns undefined if the condition stays as it is. */
function progressOf(
  deployment: Deployment,
  status: DeploymentStatus,
  fresh: ReplicaSet | undefined,
  nowMs: number,
): NewCondition | undefined {
  const current = findCondition(deployment.status?.conditions, 'Progressing')
  if ((status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable')
    return undefined
  const who = fresh ? `ReplicaSet "${fresh.metadata.name}"` : `Deployment "${deployment.metadata.name}"`
  const says = (state: string, reason: string, what: string): NewCondition => ({
    type: 'Progressing',
    status: state,
    reason,
    message: `${who} ${what}`,
  })
  if (isComplete(deployment, status)) return says('True', 'NewReplicaSetAvailable', 'has successfully progressed.')
  if (isProgressing(deployment.status, status)) {
    return says('True', PROGRESSES, 'is progressing.')
  }
  return hasTimedOut(deployment, status, nowMs)
    ? says('False', 'ProgressDeadlineExceeded', 'has timed out progressing.')
    : undefined
}

export function isComplete(deployment: Deployment, status: DeploymentStatus | undefined): boolean {
  const wanted = sizeOf(deployment)
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status ?? {}
  return (
    [updatedReplicas, replicas, availableReplicas].every((count) => count === wanted) &&
    observedGeneration >= (deployment.metadata.generation ?? 0)
  )
}

function isProgressing(before: DeploymentStatus | undefined, now: DeploymentStatus): boolean {
  const oldOnes = (status?: DeploymentStatus): number => (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0)
  const more = (name: 'updatedReplicas' | 'readyReplicas' | 'availableReplicas'): boolean =>
    (now[name] ?? 0) > (before?.[name] ?? 0)
  return more('updatedReplicas') || oldOnes(now) < oldOnes(before) || more('readyReplicas') || more('availableReplicas')
}

function hasTimedOut(deployment: Deployment, status: DeploymentStatus, nowMs: number): boolean {
  const condition = findCondition(status.conditions, 'Progressing')
  if (!hasDeadline(deployment) || !condition || condition.reason === 'NewReplicaSetAvailable') return false
  return condition.reason === 'ProgressDeadlineExceeded' || deadlineMs(deployment, condition) < nowMs
}

const deadlineMs = ({ spec }: Deployment, { lastUpdateTime = '' }: DeploymentCondition): number =>
  parseTime(lastUpdateTime) + (spec.progressDeadlineSeconds ?? NO_DEADLINE) * 1000

export const hasDeadline = ({ spec }: Deployment): boolean =>
  spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE

/** Milliseconds until a rollout that does not get on has to be looked at again. */
export function stuckInMs(deployment: Deployment, status: DeploymentStatus, nowMs: number): number | undefined {
  const condition = findCondition(status.conditions, 'Progressing')
  if (!hasDeadline(deployment) || !condition || isComplete(deployment, status)) return undefined
  if (condition.reason === 'ProgressDeadlineExceeded' || condition.reason === 'NewReplicaSetAvailable') return undefined
  return Math.max(0, deadlineMs(deployment, condition) - nowMs) + 1_000
}

/** Returns the condition that says that the deployment was paused or resumed; undefined if neither is new. */
export function pauseCondition({ spec, status }: Deployment): NewCondition | undefined {
  const current = findCondition(status?.conditions, 'Progressing')
  if (current?.reason === 'ProgressDeadlineExceeded') return undefined
  const said = current?.reason === 'DeploymentPaused'
  const type = 'Progressing'
  if (spec.paused && !said)
    return { type, status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }
  if (!spec.paused && said)
    return { type, status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' }
  return undefined
}

/** Returns the failure of the newest set, or else of another set. */
function failureOf(all: readonly ReplicaSet[], fresh?: ReplicaSet): NewCondition | undefined {
  const failures = (fresh ? [fresh, ...all] : all).map(({ status }) =>
    findCondition(status?.conditions, 'ReplicaFailure'),
  )
  const found = failures.find(Boolean)
  return found && { type: found.type, status: found.status, reason: found.reason, message: found.message }
}

/**
 * Sets a condition as for all workloads, and also its time of the last update. Progress always updates that time,
 * because the deadline counts from it.
 */
export function withDeploymentCondition(
  conditions: readonly DeploymentCondition[] | undefined,
  { type, status, reason, message }: NewCondition,
  nowMs: number,
): DeploymentCondition[] {
  const old = findCondition(conditions, type)
  if (old && old.status === status && old.reason === reason && reason !== PROGRESSES) return [...(conditions ?? [])]
  const now = toTime(nowMs)
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : now
  return [
    ...withoutCondition(conditions, type),
    { type, status, lastUpdateTime: now, lastTransitionTime, reason, message },
  ]
}
