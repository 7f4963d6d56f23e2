import type { Pod, PodStatus } from '../../shared/api/types.ts'

/** Why the kubelet does not take a pod that is bound to its node. */
export interface Rejection {
  /** CamelCase, for the pod's status and its event. */
  reason: string
  message: string
}
/** One rule; undefined: nothing against the pod. */
export type AdmitHandler = (pod: Pod) => Rejection | undefined

/** The first objection in the order of the rules; upstream: pkg/kubelet/allocation. */
export function firstRejection(pod: Pod, handlers: readonly AdmitHandler[]): Rejection | undefined {
  for (const handler of handlers) {
    const rejection = handler(pod)
    if (rejection) return rejection
  }
  return undefined
}

/** All that is ever said of a pod that was not taken. */
export const rejectedStatus = ({ status }: Pod, { reason, message }: Rejection): PodStatus => ({
  phase: 'Failed',
  reason,
  message: `Pod was rejected: ${message}`,
  qosClass: status?.qosClass ?? 'BestEffort',
})
