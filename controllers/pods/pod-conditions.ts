import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { PodCondition } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

export interface PodStatusChange {
  condition?: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>
  phase?: string
  /** The empty name takes a nomination back. */
  nominatedNodeName?: string
}

/**
 * Sets one condition of a pod, its phase or its nomination, whatever others write of it meanwhile; a pod that is gone
 * is no failure.
 */
export async function setPodStatus(
  client: Client,
  pod: TrimmedPod,
  change: PodStatusChange,
  nowMs: number,
): Promise<void> {
  const { namespace, name = '', uid } = pod.metadata
  const { phase, condition, nominatedNodeName } = change
  const status = {
    ...(condition && conditionPatch(pod, condition, nowMs)),
    ...(phase && { phase }),
    ...(nominatedNodeName !== undefined && { nominatedNodeName: nominatedNodeName || null }),
  }
  const options = { type: 'strategic', subresource: 'status', readOnly: true } as const
  await client.patch(pods, { namespace, name }, { metadata: { uid }, status }, options).catch(ignoreNotFound)
}

function conditionPatch(
  { metadata, status }: TrimmedPod,
  condition: NonNullable<PodStatusChange['condition']>,
  nowMs: number,
) {
  const { type, status: state, reason = null, message = null } = condition
  const types = (status?.conditions ?? []).map((one) => one.type)
  const old = status?.conditions?.find((one) => one.type === type)
  const lastTransitionTime = old?.status === state ? old.lastTransitionTime : toTime(nowMs)
  const observedGeneration = metadata.generation
  return {
    conditions: [{ type, observedGeneration, status: state, lastTransitionTime, reason, message }],
    '$setElementOrder/conditions': (old ? types : [...types, type]).map((one) => ({ type: one })),
  }
}
