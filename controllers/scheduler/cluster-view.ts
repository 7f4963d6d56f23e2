import { isDeepStrictEqual } from 'node:util'
import { podRequests } from '../../shared/api/quantities/amounts.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { ImageStates } from './image-states.ts'
import { NodeInfo, type PresentNode, podInfo } from './node-info.ts'
import { Nominations } from './nominations.ts'

/** Says what a pod's new version changes for others. */
interface PodChange {
  /** The pod asks for more or less than before. */
  amounts: boolean
  /** The pod has other labels, or is new on the node. */
  labels: boolean
}

/** The nodes, and which pods are on them, are about to be, or wait for them. */
export class ClusterView {
  readonly nominations = new Nominations()
  readonly #nodes = new Map<string, NodeInfo>()
  /** Copies `#nodes`; undefined after a node has come or gone. */
  #present: readonly PresentNode[] | undefined
  /** Where a pod is, or is about to be: UID → node name. */
  readonly #placed = new Map<string, string>()
  readonly #images = new ImageStates()

  /** Returns the nodes that exist, in the order of their arrival. */
  nodes(): readonly PresentNode[] {
    this.#present ??= [...this.#nodes.values()].filter((info): info is PresentNode => info.node !== undefined)
    return this.#present
  }

  isPlaced(uid: string): boolean {
    return this.#placed.has(uid)
  }

  place(pod: TrimmedPod, nodeName: string): void {
    const uid = pod.metadata.uid ?? ''
    if (this.#placed.get(uid) !== nodeName) this.unplace(uid)
    this.#placed.set(uid, nodeName)
    this.nominations.remove(uid)
    this.#node(nodeName).addPod(podInfo(pod))
  }

  /** Takes in a pod on its node, or its new version there. */
  update(pod: TrimmedPod, nodeName: string): PodChange {
    const uid = pod.metadata.uid ?? ''
    const known = this.#placed.get(uid) === nodeName ? this.#nodes.get(nodeName)?.pods.get(uid) : undefined
    const labels = known && (known.pod.metadata.labels ?? {})
    const isSame = known?.pod.metadata.generation === pod.metadata.generation
    if (known && isSame) known.pod = pod
    else this.place(pod, nodeName)
    return {
      amounts: known !== undefined && !isSame && !isDeepStrictEqual(known.requests, podRequests(pod)),
      labels: !isDeepStrictEqual(labels, pod.metadata.labels ?? {}),
    }
  }

  unplace(uid: string): boolean {
    const nodeName = this.#placed.get(uid)
    if (nodeName === undefined) return false
    this.#placed.delete(uid)
    const info = this.#nodes.get(nodeName)
    info?.removePod(uid)
    if (info && !info.node && info.pods.size === 0) this.#nodes.delete(nodeName)
    return true
  }

  setNode(node: TrimmedNode): void {
    const info = this.#node(node.metadata.name ?? '')
    if (!info.node) this.#present = undefined
    info.images = this.#images.set(info.node, node)
    info.setNode(node)
  }

  forgetNode(name: string): void {
    const info = this.#nodes.get(name)
    if (info) info.images = this.#images.set(info.node, undefined)
    info?.setNode(undefined)
    this.#present = undefined
    if (info?.pods.size === 0) this.#nodes.delete(name)
  }

  #node(name: string): NodeInfo {
    const info = this.#nodes.get(name) ?? new NodeInfo()
    this.#nodes.set(name, info)
    return info
  }
}
