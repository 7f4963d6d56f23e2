import type { PodCondition, PodStatus } from '../../shared/api/types.ts'
import { withTimes } from './conditions.ts'

/** The conditions of a pod that the kubelet itself ends: evicted, or going down with its node. */
export function disruptedByKubelet(
  status: PodStatus,
  { message, generation, time }: { message: string; generation?: number; time: string },
): PodCondition[] {
  const verdict = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message } as const
  const others = (status.conditions ?? []).filter(({ type }) => type !== verdict.type)
  return [withTimes(verdict, status, generation, time), ...others]
}
