import { toTime } from '../../shared/clock/timestamp.ts'

/** Holds the fields that the conditions of all workloads share. */
export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export const findCondition = <C extends Condition>(conditions: readonly C[] | undefined, type: string): C | undefined =>
  conditions?.find((condition) => condition.type === type)

/**
 * Sets a condition. One that says the same already, in status and reason, stays as it is; the time is that of the last
 * change of its status.
 */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  { type, status, reason, message }: Pick<C, 'type' | 'status' | 'reason' | 'message'>,
  nowMs: number,
): Condition[] {
  const old = findCondition(conditions, type)
  if (old && old.status === status && old.reason === reason) return [...(conditions ?? [])]
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : toTime(nowMs)
  return [...withoutCondition(conditions, type), { type, status, lastTransitionTime, reason, message }]
}

export const withoutCondition = <C extends Condition>(conditions: readonly C[] | undefined, type: string): C[] =>
  (conditions ?? []).filter((condition) => condition.type !== type)
