/** The quality-of-service class: from cpu and memory of all containers alone. */
import { addQuantities, compareQuantities, isZeroQuantity } from '../../../shared/api/quantity.ts'
import type { PodSpec } from '../../../shared/api/types.ts'

const counted = ['cpu', 'memory'] as const

export function qosClass(spec: PodSpec): string {
  const podLevel = spec.resources
  if (podLevel && (hasCounted(podLevel.requests) || hasCounted(podLevel.limits))) {
    return classOf([podLevel])
  }
  return classOf([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ resources }) => resources ?? {}))
}

type Amounts = Record<string, string> | undefined
const hasCounted = (amounts: Amounts) => counted.some((name) => amounts?.[name] !== undefined)

function classOf(all: { requests?: Amounts; limits?: Amounts }[]): string {
  const requests = new Map<string, string>()
  const limits = new Map<string, string>()
  let guaranteed = true
  for (const resources of all) {
    sum(requests, resources.requests)
    const limited = sum(limits, resources.limits)
    if (limited < counted.length) guaranteed = false
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  const equal =
    requests.size === limits.size &&
    [...requests].every(([name, request]) => compareQuantities(request, limits.get(name) ?? '0') === 0)
  return guaranteed && equal ? 'Guaranteed' : 'Burstable'
}

/** Adds what is not zero; answers how many were. */
function sum(totals: Map<string, string>, amounts: Amounts): number {
  let added = 0
  for (const name of counted) {
    const amount = amounts?.[name]
    if (amount === undefined || isZeroQuantity(amount)) continue
    totals.set(name, addQuantities(totals.get(name) ?? '0', amount))
    added++
  }
  return added
}
