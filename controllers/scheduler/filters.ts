import { matchesNodeSelection } from '../../shared/api/nodes/node-affinity.ts'
import { type Taint, untolerated } from '../../shared/api/nodes/taints.ts'
import type { NodeInfo, PodInfo, PresentNode } from './node-info.ts'
import { type NamespaceLabels, PodAffinity } from './pod-affinity.ts'
import type { Rejection } from './rejection.ts'
import { type SelectorOf, TopologySpread } from './topology-spread.ts'

/** Upstream's filter plugins: names, order, and words of the reasons. The first that objects speaks for the node. */
export interface Filter {
  name: string
  check(pod: PodInfo, node: PresentNode, rules: PlacementRules): Rejection | undefined
}

/** Holds a pod's rules that look at the pods of all nodes. Absent where there are none. */
export interface PlacementRules {
  spread?: TopologySpread
  affinity?: PodAffinity
}

export const placementRules = (
  pod: PodInfo,
  nodes: readonly PresentNode[],
  { namespaceLabels, defaultSelector }: { namespaceLabels: NamespaceLabels; defaultSelector: SelectorOf },
): PlacementRules => ({
  spread: TopologySpread.of(pod, nodes, defaultSelector),
  affinity: PodAffinity.of(pod, nodes, namespaceLabels),
})

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

export const filters: readonly Filter[] = [
  {
    name: 'NodeUnschedulable',
    check: ({ pod }, { node }) =>
      node.spec?.unschedulable && untolerated([UNSCHEDULABLE], pod.spec.tolerations ?? [], ['NoSchedule']).length > 0
        ? never('node(s) were unschedulable')
        : undefined,
  },
  {
    name: 'TaintToleration',
    check: ({ pod }, { taints }) =>
      untolerated(taints, pod.spec.tolerations ?? [], ['NoSchedule', 'NoExecute']).length > 0
        ? never('node(s) had untolerated taint(s)')
        : undefined,
  },
  {
    name: 'NodeAffinity',
    check: ({ pod }, { node }) =>
      matchesNodeSelection(pod.spec, node) ? undefined : never("node(s) didn't match Pod's node affinity/selector"),
  },
  {
    name: 'NodePorts',
    check: ({ hostPorts }, info) =>
      hostPorts.some((port) => info.occupies(port))
        ? { reasons: ["node(s) didn't have free ports for the requested pod ports"], resolvable: true }
        : undefined,
  },
  { name: 'NodeResourcesFit', check: checkResources },
  { name: 'PodTopologySpread', check: (_, node, { spread }) => spread?.rejection(node) },
  { name: 'InterPodAffinity', check: (_, node, { affinity }) => affinity?.rejection(node) },
]

/** Returns why the node cannot take the pod; undefined if it can. */
export function rejectionOf(pod: PodInfo, node: PresentNode, rules: PlacementRules): Rejection | undefined {
  for (const { check } of filters) {
    const rejection = check(pod, node, rules)
    if (rejection) return rejection
  }
  return undefined
}

function checkResources({ requests }: PodInfo, { allocatable, requested, pods }: NodeInfo): Rejection | undefined {
  let rejection: Rejection | undefined
  if ((pods.size + 1) * 1000 > (allocatable.get('pods') ?? 0))
    rejection = { reasons: ['Too many pods'], resolvable: true }
  for (const [name, wanted] of requests) {
    const capacity = allocatable.get(name) ?? 0
    if (wanted === 0 || wanted <= capacity - (requested.get(name) ?? 0)) continue
    rejection ??= { reasons: [], resolvable: true }
    rejection.reasons.push(`Insufficient ${name}`)
    if (wanted > capacity) rejection.resolvable = false
  }
  return rejection
}

const never = (reason: string): Rejection => ({ reasons: [reason], resolvable: false })
