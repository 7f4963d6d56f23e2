import { type HostPort, hostPortsOf } from '../../shared/api/pods/host-ports.ts'
import { type Amounts, add, podRequests } from '../../shared/api/quantities/amounts.ts'
import type { Pod } from '../../shared/api/types.ts'

/** Holds what an admitted pod uses of its node. */
export interface PodLoad {
  pod: Pod
  requests: Amounts
  hostPorts: HostPort[]
}

export const podLoad = (pod: Pod): PodLoad => ({ pod, requests: podRequests(pod), hostPorts: hostPortsOf(pod) })

/** The pods that the node has taken and that are not over yet, with the sum of what they asked for. */
export class NodeLoad {
  readonly requested: Amounts = new Map()
  readonly #pods = new Map<string, PodLoad>()

  get pods(): Iterable<PodLoad> {
    return this.#pods.values()
  }

  get count(): number {
    return this.#pods.size
  }

  take(load: PodLoad): void {
    const uid = load.pod.metadata.uid ?? ''
    this.release(uid)
    this.#pods.set(uid, load)
    add(this.requested, load.requests)
  }

  /** The newest object of a pod, if it has been taken. */
  saw(pod: Pod): void {
    const load = this.#pods.get(pod.metadata.uid ?? '')
    if (load) load.pod = pod
  }

  /** Removes a pod and returns what it held, if it was there. */
  release(podUid: string): PodLoad | undefined {
    const load = this.#pods.get(podUid)
    if (load) add(this.requested, load.requests, -1)
    this.#pods.delete(podUid)
    return load
  }
}
