import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { type PodInfo, podInfo, priorityOf } from './node-info.ts'

const NONE: readonly PodInfo[] = []

/**
 * Nodes on which pods without a node have had room made for them: `status.nominatedNodeName`, and ahead of it what is
 * about to be written. Upstream: pkg/scheduler/backend/queue/nominator.go.
 */
export class Nominations {
  readonly #nodeOf = new Map<string, string>()
  readonly #onNode = new Map<string, Map<string, PodInfo>>()

  nodeOf({ metadata: { uid = '' } }: TrimmedPod): string | undefined {
    return this.#nodeOf.get(uid)
  }

  /** The empty name takes the nomination back. */
  set(pod: TrimmedPod, nodeName: string): void {
    const { uid = '' } = pod.metadata
    this.remove(uid)
    if (nodeName === '') return
    this.#nodeOf.set(uid, nodeName)
    const pods = this.#onNode.get(nodeName) ?? new Map()
    this.#onNode.set(nodeName, pods.set(uid, podInfo(pod)))
  }

  /**
   * Takes in what the API says of a pod. A version from before this scheduler nominated a node does not take that back.
   */
  observe(pod: TrimmedPod, old: TrimmedPod | undefined): void {
    const nodeName = pod.status?.nominatedNodeName ?? ''
    const isUnchanged = nodeName === '' && !old?.status?.nominatedNodeName
    this.set(pod, isUnchanged ? (this.nodeOf(pod) ?? '') : nodeName)
  }

  /** True when the pod had a nomination. */
  remove(uid: string): boolean {
    const nodeName = this.#nodeOf.get(uid)
    if (nodeName === undefined) return false
    const pods = this.#onNode.get(nodeName)
    pods?.delete(uid)
    if (pods?.size === 0) this.#onNode.delete(nodeName)
    return this.#nodeOf.delete(uid)
  }

  /** Pods for which the room on a node is kept from `pod`: they are as important, or more. */
  before(pod: TrimmedPod, nodeName = ''): readonly PodInfo[] {
    return this.#select(
      nodeName,
      (other) => priorityOf(other) >= priorityOf(pod) && other.metadata.uid !== pod.metadata.uid,
    )
  }

  below(pod: TrimmedPod, nodeName: string): readonly PodInfo[] {
    return this.#select(nodeName, (other) => priorityOf(other) < priorityOf(pod))
  }

  #select(nodeName: string, matches: (other: TrimmedPod) => boolean): readonly PodInfo[] {
    const pods = this.#onNode.get(nodeName)
    return pods ? [...pods.values()].filter(({ pod }) => matches(pod)) : NONE
  }
}
