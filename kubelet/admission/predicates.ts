import { matchesNodeSelection } from '../../shared/api/nodes/node-affinity.ts'
import { untolerated } from '../../shared/api/nodes/taints.ts'
import { collide } from '../../shared/api/pods/host-ports.ts'
import { type Amounts, amountsOf } from '../../shared/api/quantities/amounts.ts'
import type { Node } from '../../shared/api/types.ts'
import type { Rejection } from '../pod/rejection.ts'
import { isStatic } from '../pod/static-pod.ts'
import type { NodeLoad, PodLoad } from './node-load.ts'

/**
 * Says why a pod cannot run on a node. `lacking` holds the missing amount of each resource that the node has too little
 * of.
 */
export interface PredicateFailure extends Rejection {
  lacking?: Amounts
}

interface Input {
  wanted: PodLoad
  node: Node
  load: NodeLoad
}

/**
 * Repeats the scheduler's checks on the node and returns the first failure, or undefined if the pod fits.
 * Upstream: pkg/kubelet/lifecycle/predicate.go.
 */
export function failedPredicate(input: Input): PredicateFailure | undefined {
  for (const predicate of [operatingSystem, resources, affinity, nodeName, ports, taints]) {
    const failure = predicate(input)
    if (failure) return failure
  }
  return undefined
}

const failed = (reason: string, why: string): PredicateFailure => ({
  reason,
  message: `Predicate ${reason} failed: ${why}`,
})

const OS_LABEL = 'kubernetes.io/os'

function operatingSystem({ wanted: { pod }, node }: Input): PredicateFailure | undefined {
  const label = pod.spec.nodeSelector?.[OS_LABEL]
  if (label !== undefined && label !== node.metadata.labels?.[OS_LABEL]) {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message }
  }
  const os = pod.spec.os?.name
  if (os === undefined || os === 'linux') return undefined
  return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" }
}

/** The order in which what is missing is told; others follow by name. */
const ORDER = ['pods', 'cpu', 'memory', 'ephemeral-storage']

/** Fails if the node has too little of a resource that the pod requests. */
export function resources({ wanted, node, load }: Input): PredicateFailure | undefined {
  const allocatable = amountsOf(node.status?.allocatable)
  const used = new Map(load.requested).set('pods', load.count * 1000)
  const requests = new Map(wanted.requests).set('pods', 1000)
  const lacking: Amounts = new Map()
  for (const [name, amount] of requests) {
    // Extended resources that the node does not have are left to other components, as upstream does.
    if (amount === 0 || (!ORDER.includes(name) && !allocatable.has(name))) continue
    const missing = amount + (used.get(name) ?? 0) - (allocatable.get(name) ?? 0)
    if (missing > 0) lacking.set(name, missing)
  }
  const [first] = [...lacking.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  if (first === undefined) return undefined
  const whole = (amounts: Amounts) => Math.ceil((amounts.get(first) ?? 0) / (first === 'cpu' ? 1 : 1000))
  const figures = `requested: ${whole(requests)}, used: ${whole(used)}, capacity: ${whole(allocatable)}`
  return { reason: `OutOf${first}`, message: `Node didn't have enough resource: ${first}, ${figures}`, lacking }
}
const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)

const affinity = ({ wanted: { pod }, node }: Input): PredicateFailure | undefined =>
  matchesNodeSelection(pod.spec, node)
    ? undefined
    : failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")

const nodeName = ({ wanted: { pod }, node }: Input): PredicateFailure | undefined =>
  pod.spec.nodeName && pod.spec.nodeName !== node.metadata.name
    ? failed('NodeName', "node(s) didn't match the requested node name")
    : undefined

function ports({ wanted, load }: Input): PredicateFailure | undefined {
  if (wanted.hostPorts.length === 0) return undefined
  const taken = [...load.pods].flatMap(({ hostPorts }) => hostPorts)
  return wanted.hostPorts.some((port) => taken.some((other) => collide(port, other)))
    ? failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
    : undefined
}

function taints({ wanted: { pod }, node }: Input): PredicateFailure | undefined {
  if (isStatic(pod) || untolerated(node.spec?.taints ?? [], pod.spec.tolerations ?? [], ['NoExecute']).length === 0) {
    return undefined
  }
  return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
}
