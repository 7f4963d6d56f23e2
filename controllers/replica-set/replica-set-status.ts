import { matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { type Condition, findCondition, withCondition, withoutCondition } from '../workloads/conditions.ts'
import { nonZero } from '../workloads/non-zero.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { isAvailable, isReady, isTerminating } from '../workloads/pod-states.ts'

export interface StatusInput {
  set: ReplicaSet
  /** The set's own, active. */
  pods: readonly TrimmedPod[]
  all: readonly TrimmedPod[]
  /** Says why pods could not be created or deleted. */
  failure?: { error: unknown; during: 'create' | 'delete' }
  nowMs: number
}

/** Returns the status of a set. Upstream: calculateStatus in pkg/controller/replicaset/replica_set_utils.go. */
export function replicaSetStatus({ set, pods, all, failure, nowMs }: StatusInput) {
  const { spec, metadata, status } = set
  const templateLabels = Object.entries(spec.template.metadata?.labels ?? {}).map(
    ([key, value]) => ({ key, operator: 'in', values: [value] }) as const,
  )
  const count = (holds: (pod: TrimmedPod) => boolean): number => pods.filter(holds).length
  return {
    replicas: pods.length,
    terminatingReplicas: all.filter(isTerminating).length,
    ...nonZero({
      fullyLabeledReplicas: count((pod) => matchesLabels(templateLabels, pod.metadata.labels)),
      readyReplicas: count(isReady),
      availableReplicas: count((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, nowMs)),
      observedGeneration: metadata.generation,
    }),
    ...conditionsOf(status?.conditions, failure, nowMs),
  }
}

function conditionsOf(
  conditions: readonly Condition[] | undefined,
  failure: StatusInput['failure'],
  nowMs: number,
): { conditions?: Condition[] } {
  const known = findCondition(conditions, 'ReplicaFailure')
  if (failure && !known) {
    const reason = failure.during === 'create' ? 'FailedCreate' : 'FailedDelete'
    const condition = { type: 'ReplicaFailure', status: 'True', reason, message: wordsOf(failure.error) }
    return { conditions: withCondition(conditions, condition, nowMs) }
  }
  const kept = !failure && known ? withoutCondition(conditions, 'ReplicaFailure') : [...(conditions ?? [])]
  return kept.length > 0 ? { conditions: kept } : {}
}
