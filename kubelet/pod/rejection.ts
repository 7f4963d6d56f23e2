import type { Pod, PodStatus } from '../../shared/api/types.ts'

/** Says why the kubelet rejects a pod that is bound to its node. */
export interface Rejection {
  /** Names the reason in CamelCase, for the pod's status and its event. */
  reason: string
  message: string
}
/** Applies one admission rule; returns undefined if the rule admits the pod. */
export type AdmitHandler = (pod: Pod) => Rejection | undefined

/** Returns the first rejection in the order of the rules, or undefined. Upstream: pkg/kubelet/allocation. */
export function firstRejection(pod: Pod, handlers: readonly AdmitHandler[]): Rejection | undefined {
  for (const handler of handlers) {
    const rejection = handler(pod)
    if (rejection) return rejection
  }
  return undefined
}

/** Returns the status of a rejected pod. The pod gets no other status afterwards. */
export const rejectedStatus = ({ status }: Pod, { reason, message }: Rejection): PodStatus => ({
  phase: 'Failed',
  reason,
  message: `Pod was rejected: ${message}`,
  qosClass: status?.qosClass ?? 'BestEffort',
})
