import { parseTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isReady, readySinceMs } from './pod-states.ts'

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
const phases = ['Pending', 'Unknown', 'Running']

export interface DeletionInput {
  /** Lists active pods. */
  pods: readonly TrimmedPod[]
  count: number
  /** Active pods of the same owner's owner, these included: on a node where many are, one goes rather. */
  related: readonly TrimmedPod[]
  nowMs: number
}

/**
 * Returns the pods to delete first: those without a node, then not running, not ready, with a low deletion cost, on
 * crowded nodes, ready for a shorter time, restarted more often, younger. Pure; upstream: ActivePodsWithRanks in
 * pkg/controller/controller_utils.go.
 */
export function podsToDelete({ pods, count, related, nowMs }: DeletionInput): TrimmedPod[] {
  if (count >= pods.length) return [...pods]
  const crowds = new Map<string, number>()
  for (const { spec } of related) crowds.set(spec.nodeName ?? '', (crowds.get(spec.nodeName ?? '') ?? 0) + 1)
  const crowdOf = ({ spec }: TrimmedPod): number => crowds.get(spec.nodeName ?? '') ?? 0
  const least = (rank: (pod: TrimmedPod) => number) => (a: TrimmedPod, b: TrimmedPod) => rank(a) - rank(b)
  /**
   * Compares ages on a logarithmic scale; the UID decides, as good as at random, between pods of about the same age.
   */
  const youngest = (sinceMs: (pod: TrimmedPod) => number | undefined) => (a: TrimmedPod, b: TrimmedPod) => {
    const [one, other] = [sinceMs(a), sinceMs(b)]
    if (one === undefined || other === undefined || one === other) return 0
    return magnitude(nowMs - one) - magnitude(nowMs - other) || compare(a.metadata.uid, b.metadata.uid)
  }
  const comparisons = [
    least(({ spec }) => (spec.nodeName ? 1 : 0)),
    least(({ status }) => phases.indexOf(status?.phase ?? 'Pending')),
    least((pod) => (isReady(pod) ? 1 : 0)),
    least(deletionCost),
    least((pod) => -crowdOf(pod)),
    youngest(readySinceMs),
    least((pod) => -mostRestarts(pod)),
    youngest(({ metadata }) => parseTime(metadata.creationTimestamp ?? '')),
  ]
  const order = (a: TrimmedPod, b: TrimmedPod): number => {
    for (const comparison of comparisons) {
      const found = comparison(a, b)
      if (found !== 0) return found
    }
    return 0
  }
  return [...pods].sort(order).slice(0, count)
}

/** Returns the power of two of a duration's nanoseconds. */
const magnitude = (ms: number): number => (ms <= 0 ? -1 : Math.floor(Math.log2(ms * 1e6)))
const compare = (a = '', b = ''): number => (a < b ? -1 : Number(a > b))

function deletionCost({ metadata }: TrimmedPod): number {
  const text = metadata.annotations?.[DELETION_COST] ?? ''
  return /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0
}

const mostRestarts = ({ status }: TrimmedPod): number =>
  Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))
