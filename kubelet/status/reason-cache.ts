/** Says why the last start of a container failed; the container's status shows the reason as `waiting`. */
export interface WaitingReason {
  reason: string
  message: string
}
export interface ReasonCache {
  get(podUid: string, container: string): WaitingReason | undefined
  set(podUid: string, container: string, reason: WaitingReason): void
  remove(podUid: string, container: string): void
  forget(podUid: string): void
}

export function createReasonCache(): ReasonCache {
  const pods = new Map<string, Map<string, WaitingReason>>()
  return {
    get: (podUid, container) => pods.get(podUid)?.get(container),
    set(podUid, container, reason) {
      const pod = pods.get(podUid) ?? new Map<string, WaitingReason>()
      pods.set(podUid, pod.set(container, reason))
    },
    remove: (podUid, container) => void pods.get(podUid)?.delete(container),
    forget: (podUid) => void pods.delete(podUid),
  }
}
