import type { Pod } from '../../shared/api/types.ts'
import { diskOf, memoryOf, type PodUsage, podRequest, processesOf } from './pod-usage.ts'
import type { StarvedResource } from './signals.ts'

type UsageOf = (pod: Pod) => PodUsage
type Compare = (a: Pod, b: Pod) => number

/**
 * Order of evictions: pods that exceed their requests; then by priority, the lowest first; then by usage beyond
 * requests.
 */
const orders: Record<StarvedResource, (usageOf: UsageOf) => Compare[]> = {
  memory(usageOf) {
    const excess = (pod: Pod): number => memoryOf(usageOf(pod)) - podRequest(pod, 'memory')
    return [exceeding(excess), byPriority, most(excess)]
  },
  'ephemeral-storage'(usageOf) {
    const excess = (pod: Pod): number => diskOf(usageOf(pod)).bytes - podRequest(pod, 'ephemeral-storage')
    return [exceeding(excess), byPriority, most(excess)]
  },
  inodes(usageOf) {
    const used = (pod: Pod): number => diskOf(usageOf(pod)).inodes
    return [exceeding(used), byPriority, most(used)]
  },
  pids: (usageOf) => [byPriority, most((pod) => processesOf(usageOf(pod)))],
}

/** The pods in the order in which they would be evicted; upstream: pkg/kubelet/eviction/helpers.go. */
export function rankForEviction(pods: readonly Pod[], resource: StarvedResource, usageOf: UsageOf): Pod[] {
  const comparisons = orders[resource](usageOf)
  return pods.toSorted((a, b) => {
    for (const compare of comparisons) {
      const order = compare(a, b)
      if (order !== 0) return order
    }
    return 0
  })
}

const byPriority: Compare = (a, b) => (a.spec.priority ?? 0) - (b.spec.priority ?? 0)
const most =
  (amount: (pod: Pod) => number): Compare =>
  (a, b) =>
    amount(b) - amount(a)
const exceeding =
  (excess: (pod: Pod) => number): Compare =>
  (a, b) =>
    Number(excess(b) > 0) - Number(excess(a) > 0)
