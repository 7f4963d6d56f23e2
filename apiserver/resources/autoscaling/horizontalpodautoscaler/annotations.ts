/** Reads what annotations of autoscaling/v1 hold. Clients may write anything: all functions throw a TypeError for that. */
import type { AutoscalerCondition, AutoscalerSpec } from './types.ts'

export type Fields = { [name: string]: unknown }

export function text(value: unknown): string | undefined {
  if (typeof value === 'string' || value === undefined) return value
  throw new TypeError('no text')
}

export function number(value: unknown): number | undefined {
  if (Number.isInteger(value) || value === undefined) return value as number | undefined
  throw new TypeError('no integer')
}

export function mapOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new TypeError('no map')
}

export function listOf(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.map(mapOf)
  throw new TypeError('no list')
}

/** Reads a behavior, whose fields Go takes in any case. */
export function behaviorOf(value: unknown): NonNullable<AutoscalerSpec['behavior']> {
  const { scaleup, scaledown } = bySmallName(mapOf(value))
  return {
    ...(scaleup !== undefined && { scaleUp: rulesOf(scaleup) }),
    ...(scaledown !== undefined && { scaleDown: rulesOf(scaledown) }),
  }
}

type Rules = NonNullable<NonNullable<AutoscalerSpec['behavior']>['scaleUp']>

function rulesOf(value: unknown): Rules {
  const { stabilizationwindowseconds, selectpolicy, policies, tolerance } = bySmallName(mapOf(value))
  return {
    stabilizationWindowSeconds: number(stabilizationwindowseconds),
    selectPolicy: text(selectpolicy),
    ...(policies !== undefined && { policies: listOf(policies).map(policyOf) }),
    ...(tolerance !== undefined && { tolerance: text(tolerance) }),
  }
}

function policyOf(given: Fields): NonNullable<Rules['policies']>[number] {
  const { type, value, periodseconds } = bySmallName(given)
  return { type: text(type) ?? '', value: number(value) ?? 0, periodSeconds: number(periodseconds) ?? 0 }
}

const bySmallName = (map: Fields): Fields =>
  Object.fromEntries(
    Object.entries(map).flatMap(([name, value]) => (value === null ? [] : [[name.toLowerCase(), value]])),
  )

export const conditionsOf = (value: unknown): AutoscalerCondition[] =>
  listOf(value).map(({ type, status, lastTransitionTime, reason, message }) => ({
    type: text(type) ?? '',
    status: text(status) ?? '',
    ...(lastTransitionTime !== null && { lastTransitionTime: text(lastTransitionTime) }),
    ...(reason !== undefined && { reason: text(reason) }),
    ...(message !== undefined && { message: text(message) }),
  })) as AutoscalerCondition[]
