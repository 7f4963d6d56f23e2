import { remembered } from '../../shared/api/json/remembered.ts'
import type { Taint } from '../../shared/api/nodes/taints.ts'
import { collide, type HostPort, hostPortsOf } from '../../shared/api/pods/host-ports.ts'
import { type Amounts, add, amountsOf, podRequests } from '../../shared/api/quantities/amounts.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod, TrimmedPodSpec } from '../informers/trimmed-pod.ts'
import { type AffinityTerms, affinityTerms } from './affinity-terms.ts'
import type { ImageState } from './image-states.ts'

/** Holds what scheduling needs to know about a pod, computed once. */
export interface PodInfo {
  pod: TrimmedPod
  requests: Amounts
  /** Requests for scoring: a container that requests nothing counts with a small amount, so that such pods spread. */
  weighed: Amounts
  hostPorts: HostPort[]
  /** Holds the pod's rules about other pods, if there are any. */
  affinity?: AffinityTerms
}

/** Upstream's figures for a container that requests nothing: a tenth of a core, 200 MiB. */
const weighedIfMissing: Amounts = new Map([
  ['cpu', 100],
  ['memory', 200 * 1024 * 1024 * 1000],
])

export function podInfo(pod: TrimmedPod): PodInfo {
  const affinity = affinityTerms(pod)
  return { pod, ...demandsOf(pod.spec), ...(affinity && { affinity }) }
}

/** Pods of one template ask for the same. */
const demandsOf = remembered((spec: TrimmedPodSpec) => ({
  requests: podRequests({ spec }),
  weighed: podRequests({ spec }, weighedIfMissing),
  hostPorts: hostPortsOf({ spec }),
}))

export const priorityOf = ({ spec }: TrimmedPod): number => spec.priority ?? 0

/**
 * Describes a node that the informer has shown. A NodeInfo without `node` holds only the pods of a node that is still
 * unknown.
 */
export type PresentNode = NodeInfo & { node: TrimmedNode }

/** A node and what is on it. Pods may be known before their node is. */
export class NodeInfo {
  node: TrimmedNode | undefined
  allocatable: Amounts
  /** Lists the node's taints, and those that the node controller will add for its conditions. */
  taints: readonly Taint[]
  readonly requested: Amounts
  readonly weighed: Amounts
  readonly pods: Map<string, PodInfo>
  /** Holds the part of `pods` with rules about other pods. */
  readonly affine: Map<string, PodInfo>
  /** Holds the images that the node has, by all their names; see {@link ImageStates}. */
  images: ReadonlyMap<string, ImageState> | undefined

  constructor(from?: NodeInfo) {
    this.node = from?.node
    this.allocatable = from?.allocatable ?? new Map()
    this.taints = from?.taints ?? []
    this.requested = new Map(from?.requested)
    this.weighed = new Map(from?.weighed)
    this.pods = new Map(from?.pods)
    this.affine = new Map(from?.affine)
    this.images = from?.images
  }

  with(pods: readonly PodInfo[]): NodeInfo {
    const copy = new NodeInfo(this)
    for (const info of pods) copy.addPod(info)
    return copy
  }

  setNode(node: TrimmedNode | undefined): void {
    this.node = node
    this.allocatable = amountsOf(node?.status?.allocatable)
    this.taints = node ? effectiveTaints(node) : []
  }

  addPod(info: PodInfo): void {
    const uid = info.pod.metadata.uid ?? ''
    this.removePod(uid)
    this.pods.set(uid, info)
    if (info.affinity) this.affine.set(uid, info)
    add(this.requested, info.requests)
    add(this.weighed, info.weighed)
  }

  removePod(uid: string): boolean {
    const info = this.pods.get(uid)
    if (info) {
      add(this.requested, info.requests, -1)
      add(this.weighed, info.weighed, -1)
    }
    this.affine.delete(uid)
    return this.pods.delete(uid)
  }

  occupies(port: HostPort): boolean {
    for (const { hostPorts } of this.pods.values()) {
      if (hostPorts.some((taken) => collide(taken, port))) return true
    }
    return false
  }
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
