import { isStatus } from '../shared/api/status-error.ts'
import type { Pod, PodCondition } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { pods } from '../shared/client/resources.ts'
import { toTime } from '../shared/clock/timestamp.ts'

export interface PodStatusChange {
  condition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>
  phase?: string
}

/** Sets one condition of a pod (and its phase); a pod that is gone is no failure. */
export async function setPodCondition(client: Client, pod: Pod, change: PodStatusChange, nowMs: number): Promise<void> {
  const { namespace, name = '', uid, generation } = pod.metadata
  const { condition, phase } = change
  const conditions = pod.status?.conditions ?? []
  const old = conditions.find(({ type }) => type === condition.type)
  const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : toTime(nowMs)
  const written = { ...condition, observedGeneration: generation, lastTransitionTime }
  const status = {
    conditions: old ? conditions.map((other) => (other === old ? written : other)) : [...conditions, written],
    ...(phase && { phase }),
  }
  try {
    await client.patch(pods, { namespace, name }, { metadata: { uid }, status }, { subresource: 'status' })
  } catch (error) {
    if (!isStatus(error, 'NotFound')) throw error
  }
}
