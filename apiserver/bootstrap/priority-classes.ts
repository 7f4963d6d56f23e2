import type { SystemObject } from './system-object.ts'

const systemClass = (name: string, value: number, description: string): SystemObject => ({
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  name,
  body: { value, description, preemptionPolicy: 'PreemptLowerPriority' },
})

/** Holds the priority classes that every cluster has. Upstream: pkg/apis/scheduling/v1/helpers.go. */
export const priorityClasses: readonly SystemObject[] = [
  systemClass(
    'system-node-critical',
    2_000_001_000,
    'Used for system critical pods that must not be moved from their current node.',
  ),
  systemClass(
    'system-cluster-critical',
    2_000_000_000,
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  ),
]
