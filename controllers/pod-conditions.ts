import { isStatus } from '../shared/api/status-error.ts'
import type { Pod, PodCondition } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { pods } from '../shared/client/resources.ts'
import { toTime } from '../shared/clock/timestamp.ts'

export interface PodStatusChange {
  condition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>
  phase?: string
}

/** Sets one condition of a pod (and its phase), whatever others write of it meanwhile; a pod that is gone is no failure. */
export async function setPodCondition(client: Client, pod: Pod, change: PodStatusChange, nowMs: number): Promise<void> {
  const { namespace, name = '', uid, generation } = pod.metadata
  const { phase, condition } = change
  const { type, status, reason = null, message = null } = condition
  const types = (pod.status?.conditions ?? []).map((one) => one.type)
  const old = pod.status?.conditions?.find((one) => one.type === type)
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : toTime(nowMs)
  const patch = {
    metadata: { uid },
    status: {
      conditions: [{ type, observedGeneration: generation, status, lastTransitionTime, reason, message }],
      '$setElementOrder/conditions': (old ? types : [...types, type]).map((one) => ({ type: one })),
      ...(phase && { phase }),
    },
  }
  try {
    await client.patch(pods, { namespace, name }, patch, { type: 'strategic', subresource: 'status' })
  } catch (error) {
    if (!isStatus(error, 'NotFound')) throw error
  }
}
