/** The quality-of-service class: from cpu and memory of the pod as a whole if it sets them, else of all containers. */

import { remembered } from '../../../../shared/api/json/remembered.ts'
import { parseQuantity } from '../../../../shared/api/quantities/quantity.ts'
import type { PodSpec } from '../../../../shared/api/types.ts'

const counted = ['cpu', 'memory'] as const

export const qosClass = remembered((spec: PodSpec): string => {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  return classOf(spec.resources ? [spec.resources] : containers.map(({ resources }) => resources ?? {}))
})

type Amounts = Record<string, string> | undefined

function classOf(all: { requests?: Amounts; limits?: Amounts }[]): string {
  const requests = new Map<string, bigint>()
  const limits = new Map<string, bigint>()
  let guaranteed = true
  for (const resources of all) {
    sum(requests, resources.requests)
    const limited = sum(limits, resources.limits)
    if (limited < counted.length) guaranteed = false
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  const equal = requests.size === limits.size && [...requests].every(([name, request]) => request === limits.get(name))
  return guaranteed && equal ? 'Guaranteed' : 'Burstable'
}

/** Adds what is not zero; answers how many were. */
function sum(totals: Map<string, bigint>, amounts: Amounts): number {
  let added = 0
  for (const name of counted) {
    const amount = amounts?.[name]
    if (amount === undefined) continue
    const { nano } = parseQuantity(amount)
    if (nano === 0n) continue
    totals.set(name, (totals.get(name) ?? 0n) + nano)
    added++
  }
  return added
}
