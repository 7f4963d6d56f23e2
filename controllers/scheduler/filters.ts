import { matchesNodeSelection } from '../../shared/api/node-affinity.ts'
import { type Taint, untolerated } from '../../shared/api/taints.ts'
import type { TrimmedNode } from '../trimmed-node.ts'
import type { NodeInfo, PodInfo, PresentNode } from './node-info.ts'

/** Why a node cannot take a pod. `resolvable`: it could if some pods were not on it, so preemption may help. */
export interface Rejection {
  reasons: string[]
  resolvable: boolean
}

/** Upstream's filter plugins: names, order, and words of the reasons. The first that objects speaks for the node. */
export interface Filter {
  name: string
  check(pod: PodInfo, node: PresentNode): Rejection | undefined
}

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
    check: ({ pod }, { node }) =>
      untolerated(effectiveTaints(node), pod.spec.tolerations ?? [], ['NoSchedule', 'NoExecute']).length > 0
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
]

/** Why the node cannot take the pod; undefined when it can. */
export function rejectionOf(pod: PodInfo, node: PresentNode): Rejection | undefined {
  for (const { check } of filters) {
    const rejection = check(pod, node)
    if (rejection) return rejection
  }
  return undefined
}

function checkResources({ requests }: PodInfo, { allocatable, requested, pods }: NodeInfo): Rejection | undefined {
  const reasons: string[] = []
  let resolvable = true
  if ((pods.size + 1) * 1000 > (allocatable.get('pods') ?? 0)) reasons.push('Too many pods')
  for (const [name, wanted] of requests) {
    const capacity = allocatable.get(name) ?? 0
    if (wanted === 0 || wanted <= capacity - (requested.get(name) ?? 0)) continue
    reasons.push(`Insufficient ${name}`)
    if (wanted > capacity) resolvable = false
  }
  return reasons.length > 0 ? { reasons, resolvable } : undefined
}

/**
 * A node that says it is not Ready counts as tainted from that moment, not from when the node controller has written
 * the taint.
 */
function effectiveTaints({ spec, status }: TrimmedNode): Taint[] {
  const taints = spec?.taints ?? []
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status
  if (ready === undefined || ready === 'True') return taints
  const key = ready === 'Unknown' ? 'node.kubernetes.io/unreachable' : 'node.kubernetes.io/not-ready'
  return [...taints, { key, effect: 'NoSchedule' }]
}

const never = (reason: string): Rejection => ({ reasons: [reason], resolvable: false })
