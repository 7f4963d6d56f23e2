import { toTime } from '../../clock/timestamp.ts'
import type { PodDisruptionBudget } from '../types.ts'

export type DisruptionBudgetStatus = NonNullable<PodDisruptionBudget['status']>
type Condition = NonNullable<DisruptionBudgetStatus['conditions']>[number]

const DISRUPTION_ALLOWED = 'DisruptionAllowed'
/** Reason of the condition while the controller could not tell how many pods there should be. */
export const SYNC_FAILED = 'SyncFailed'
/** An evicted pod counts as disrupted for so long, if it is not gone before. */
export const DISRUPTION_TIMEOUT_MS = 2 * 60_000

export const disruptionAllowed = (status: DisruptionBudgetStatus): Condition | undefined =>
  status.conditions?.find(({ type }) => type === DISRUPTION_ALLOWED)

/**
 * Sets the condition of the status to agree with `disruptionsAllowed`. Upstream:
 * component-helpers/apps/poddisruptionbudget.
 */
export function withDisruptionCondition(status: DisruptionBudgetStatus, nowMs: number): DisruptionBudgetStatus {
  const verdict =
    (status.disruptionsAllowed ?? 0) > 0
      ? { status: 'True', reason: 'SufficientPods', message: '' }
      : { status: 'False', reason: 'InsufficientPods', message: '' }
  return withCondition(status, verdict, nowMs)
}

/** The status that allows nothing, while it is not known what may be allowed. */
export const withSyncFailure = (
  status: DisruptionBudgetStatus,
  message: string,
  nowMs: number,
): DisruptionBudgetStatus =>
  withCondition({ ...status, disruptionsAllowed: 0 }, { status: 'False', reason: SYNC_FAILED, message }, nowMs)

function withCondition(
  status: DisruptionBudgetStatus,
  verdict: Pick<Condition, 'status' | 'reason' | 'message'>,
  nowMs: number,
): DisruptionBudgetStatus {
  const old = disruptionAllowed(status)
  const lastTransitionTime = old?.status === verdict.status ? old.lastTransitionTime : toTime(nowMs)
  const written = {
    type: DISRUPTION_ALLOWED,
    ...verdict,
    lastTransitionTime,
    ...(status.observedGeneration !== undefined && { observedGeneration: status.observedGeneration }),
  }
  const conditions = status.conditions ?? []
  return {
    ...status,
    conditions: old ? conditions.map((other) => (other === old ? written : other)) : [...conditions, written],
  }
}
