import { scaledValue } from '../../shared/api/quantities/int-or-percent.ts'
import type { PodDisruptionBudget } from '../../shared/api/types.ts'
import {
  DISRUPTION_TIMEOUT_MS,
  type DisruptionBudgetStatus,
  withDisruptionCondition,
} from '../../shared/api/workloads/disruption-budget.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isReady } from '../workloads/pod-states.ts'

export interface BudgetInput {
  budget: PodDisruptionBudget
  /** Lists all pods that the budget's selector matches. */
  pods: readonly TrimmedPod[]
  /** Replicas that the pods' owners want in total; needed if {@link countsOwners}. */
  ownersScale: number
  nowMs: number
}
export interface BudgetVerdict {
  status: DisruptionBudgetStatus
  /** Pods that should be gone by now. */
  overdue: TrimmedPod[]
  /** Time until the next sync, in milliseconds. */
  againInMs?: number
}

/** Returns whether the owners' scale decides how many pods are expected, instead of the number of existing pods. */
export const countsOwners = ({ spec }: PodDisruptionBudget): boolean =>
  spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string'

/**
 * Computes the status of a budget, including how many of its pods may be disrupted now. Pure; upstream:
 * pkg/controller/disruption/disruption.go.
 */
export function budgetStatus(input: BudgetInput): BudgetVerdict {
  const { budget, pods, nowMs } = input
  const { disruptedPods, overdue, againInMs } = stillDisrupted(input)
  const { expectedPods, desiredHealthy } = expectations(input)
  const currentHealthy = pods.filter((pod) => isHealthy(pod) && !(pod.metadata.name! in disruptedPods)).length
  const status: DisruptionBudgetStatus = {
    currentHealthy,
    desiredHealthy,
    expectedPods,
    // A budget that matches nothing yet allows nothing.
    disruptionsAllowed: expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    ...(budget.metadata.generation !== undefined && { observedGeneration: budget.metadata.generation }),
    ...(budget.status?.conditions && { conditions: budget.status.conditions }),
  }
  return { status: withDisruptionCondition(status, nowMs), overdue, againInMs }
}

function expectations({ budget, pods, ownersScale }: BudgetInput): { expectedPods: number; desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = budget.spec ?? {}
  const expectedPods = countsOwners(budget) ? ownersScale : minAvailable === undefined ? 0 : pods.length
  const desiredHealthy =
    maxUnavailable === undefined
      ? scaledValue(minAvailable ?? 0, expectedPods, Math.ceil)
      : Math.max(0, expectedPods - scaledValue(maxUnavailable, expectedPods, Math.ceil))
  return { expectedPods, desiredHealthy }
}

const isHealthy = (pod: TrimmedPod): boolean => pod.metadata.deletionTimestamp === undefined && isReady(pod)

/** Pods whose eviction was granted, but which are not being deleted yet. */
function stillDisrupted({ budget, pods, nowMs }: BudgetInput) {
  const disruptedPods: Record<string, string> = {}
  const overdue: TrimmedPod[] = []
  let againInMs: number | undefined
  for (const pod of pods) {
    const name = pod.metadata.name ?? ''
    const since = budget.status?.disruptedPods?.[name]
    if (since === undefined || pod.metadata.deletionTimestamp) continue
    const leftMs = parseTime(since) + DISRUPTION_TIMEOUT_MS - nowMs
    if (leftMs < 0) overdue.push(pod)
    else {
      disruptedPods[name] = since
      againInMs = Math.min(leftMs, againInMs ?? leftMs)
    }
  }
  return { disruptedPods, overdue, againInMs }
}
