/**
 * Says why a node cannot take a pod. If `resolvable`, the node could take it without some of its pods, so preemption
 * may help.
 */
export interface Rejection {
  reasons: string[]
  resolvable: boolean
}
