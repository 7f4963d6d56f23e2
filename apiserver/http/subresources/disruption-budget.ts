import { selectsLabels } from '../../../shared/api/selectors/label-selector.ts'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { forbidden, plainError, tooManyRequests } from '../../../shared/api/status/status-errors.ts'
import type { Pod, PodDisruptionBudget } from '../../../shared/api/types.ts'
import {
  disruptionAllowed,
  SYNC_FAILED,
  withDisruptionCondition,
} from '../../../shared/api/workloads/disruption-budget.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'

const POLICY = { group: 'policy', plural: 'poddisruptionbudget' }
/** Bounds the evictions that the controller has not seen yet. */
const MAX_DISRUPTED_PODS = 2_000
const PROCESSING_RETRY_SECONDS = 10

/** A pod that has not started, has ended, or is being deleted needs no budget. */
export const needsNoBudget = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || ['Succeeded', 'Failed', 'Pending'].includes(status?.phase ?? '')

/** The one budget that covers the pod. Throws the 500 of upstream when there are several. */
export function budgetOf(pod: Pod, budgets: Iterable<PodDisruptionBudget>): PodDisruptionBudget | undefined {
  const covering = [...budgets].filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace && selectsLabels(spec?.selector, pod.metadata.labels),
  )
  if (covering.length > 1) {
    throw plainError('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  }
  return covering[0]
}

/** A pod that is not ready is no loss; whether it may go then is the budget's policy. */
export function mayGoUnready(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (pod.status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True')) return false
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {}
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy
}

/**
 * Returns the budget after one more eviction. Throws a StatusError when it allows no more. Upstream:
 * registry/core/pod/storage/eviction.go.
 */
export function spend(budget: PodDisruptionBudget, podName: string, nowMs: number): PodDisruptionBudget {
  const { metadata, status } = budget
  const name = metadata.name ?? ''
  if (!status || (status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    const message = `The disruption budget ${name} is still being processed by the server.`
    throw refused(message, PROCESSING_RETRY_SECONDS)
  }
  const { disruptionsAllowed = 0 } = status
  if (disruptionsAllowed < 0) throw forbidden(POLICY, name, 'pdb disruptions allowed is negative')
  if (Object.keys(status.disruptedPods ?? {}).length > MAX_DISRUPTED_PODS) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller'
    throw forbidden(POLICY, name, why)
  }
  if (disruptionsAllowed === 0) throw refused(whyNone(budget), 0)
  const spent = {
    ...status,
    disruptionsAllowed: disruptionsAllowed - 1,
    disruptedPods: { ...status.disruptedPods, [podName]: toTime(nowMs) },
  }
  return { ...budget, status: spent.disruptionsAllowed === 0 ? withDisruptionCondition(spent, nowMs) : spent }
}

function whyNone({ metadata, status }: PodDisruptionBudget): string {
  const condition = status && disruptionAllowed(status)
  const refusal = `The disruption budget ${metadata.name} does not allow evicting pods currently`
  if (condition?.status === 'False' && condition.reason === SYNC_FAILED) {
    return `${refusal} because it failed sync: ${condition.message}`
  }
  const { desiredHealthy = 0, currentHealthy = 0 } = status ?? {}
  if (currentHealthy <= desiredHealthy) {
    return `The disruption budget ${metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
  }
  if (condition?.status === 'False' && condition.message)
    return `${refusal} (${condition.reason}): ${condition.message}`
  return refusal
}

const refused = (message: string, retryAfterSeconds: number): StatusError =>
  tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds, [
    { reason: 'DisruptionBudget', message },
  ])
