import { hasEnded } from '../api/pods/pod-phase.ts'
import { podResources, type ResourceList } from '../api/quantities/resource-list.ts'
import type { Pod } from '../api/types.ts'

const standard = ['cpu', 'memory', 'ephemeral-storage']
const isExtended = (name: string): boolean => name.includes('/') && !name.startsWith('kubernetes.io/')

/**
 * Requests and limits under the names that quotas have for them. Upstream of all here:
 * pkg/quota/v1/evaluator/core/pods.go.
 */
function computeUsage(requests: ResourceList = {}, limits: ResourceList = {}): ResourceList {
  const usage: Record<string, string> = { pods: '1' }
  for (const [name, amount] of Object.entries(requests)) {
    const counted = standard.includes(name) || name.startsWith('hugepages-')
    if (counted) usage[name] = amount
    if (counted || isExtended(name)) usage[`requests.${name}`] = amount
  }
  for (const name of standard) {
    const amount = limits[name]
    if (amount !== undefined) usage[`limits.${name}`] = amount
  }
  return usage
}

/** A pod that has ended, or should have, counts as an object only. */
export function podUsage(pod: Pod, nowMs: number): ResourceList {
  const object = { 'count/pods': '1' }
  if (!isAlive(pod, nowMs)) return object
  return { ...object, ...computeUsage(podResources(pod, 'requests'), podResources(pod, 'limits')) }
}

export function isAlive(pod: Pod, nowMs: number): boolean {
  if (hasEnded(pod)) return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

/** Amounts of which each container must say something where a quota counts them. */
const mustBeSaid = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']

/** Names the resources that containers do not specify, in upstream's words; undefined if all are specified. */
export function unsaid({ spec }: Pod, names: readonly string[]): string | undefined {
  if (spec.resources && Object.keys({ ...spec.resources.requests, ...spec.resources.limits }).length > 0)
    return undefined
  const required = names.filter((name) => mustBeSaid.includes(name)).sort()
  const missing = required.flatMap((name) => {
    const containers = [...spec.containers, ...(spec.initContainers ?? [])]
      .filter(({ resources }) => computeUsage(resources?.requests, resources?.limits)[name] === undefined)
      .map((container) => container.name)
    return containers.length > 0 ? [`${name} for: ${[...new Set(containers)].sort().join(',')}`] : []
  })
  return missing.length > 0 ? `must specify ${missing.join('; ')}` : undefined
}
