import { toTime } from '../../shared/clock/timestamp.ts'
import type { Condition } from './types.ts'

export type NewCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Returns the conditions with one of them set; its time changes with its status alone. Pure. */
export function withCondition(conditions: readonly Condition[], set: NewCondition, nowMs: number): Condition[] {
  const before = conditions.find(({ type }) => type === set.type)
  const { lastTransitionTime = toTime(nowMs) } = before?.status === set.status ? before : {}
  // In upstream's order of fields.
  const { type, status, reason, message } = set
  const after = { type, status, lastTransitionTime, reason, message }
  return before ? conditions.map((one) => (one === before ? after : one)) : [...conditions, after]
}

const condition =
  (type: string) =>
  (status: 'True' | 'False', reason: string, message: string): NewCondition => ({ type, status, reason, message })

export const scalingActive = condition('ScalingActive')
export const ableToScale = condition('AbleToScale')
export const scalingLimited = condition('ScalingLimited')
