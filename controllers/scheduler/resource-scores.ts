import type { Amounts } from '../../shared/api/quantities/amounts.ts'
import type { NodeInfo, PodInfo } from './node-info.ts'

const weighed = ['cpu', 'memory'] as const
type Resource = (typeof weighed)[number]

/** Millicores or whole bytes: upstream's numbers, whose quotients it truncates. */
const amountOf = (amounts: Amounts, resource: Resource): number => {
  const amount = amounts.get(resource) ?? 0
  return resource === 'cpu' ? amount : Math.ceil(amount / 1000)
}

/** The part of the node that would still be free with the pod. Upstream: noderesources/least_allocated.go. */
export function leastAllocated(pod: PodInfo, node: NodeInfo): number {
  const parts = weighed.flatMap((resource) => {
    const capacity = amountOf(node.allocatable, resource)
    const free = capacity - amountOf(node.weighed, resource) - amountOf(pod.weighed, resource)
    return capacity === 0 ? [] : Math.trunc((Math.max(0, free) * 100) / capacity)
  })
  return parts.length === 0 ? 0 : Math.trunc(parts.reduce((sum, part) => sum + part, 0) / parts.length)
}

/** Says that a pod requests nothing, and so changes no balance. */
export const isBestEffort = ({ requests }: PodInfo): boolean =>
  weighed.every((resource) => amountOf(requests, resource) === 0)

/** Compares how evenly CPU and memory are used with the pod and without. Upstream: balanced_allocation.go. */
export const balance = ({ requests }: PodInfo, node: NodeInfo): number =>
  50 + Math.trunc((50 + evenness(node, requests) - evenness(node)) / 2)

function evenness(node: NodeInfo, more?: Amounts): number {
  const [cpu, memory] = [usedPart(node, 'cpu', more), usedPart(node, 'memory', more)]
  const deviation = cpu === undefined || memory === undefined ? 0 : Math.abs((cpu - memory) / 2)
  return Math.trunc((1 - deviation) * 100)
}

/** Returns the part of a resource that is used if `more` is used too; undefined if the node has no such resource. */
function usedPart({ allocatable, requested }: NodeInfo, resource: Resource, more?: Amounts): number | undefined {
  const capacity = amountOf(allocatable, resource)
  if (capacity === 0) return undefined
  const used = amountOf(requested, resource) + (more ? amountOf(more, resource) : 0)
  return Math.min(1, used / capacity)
}
