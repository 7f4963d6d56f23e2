import type { PodStatus } from '../../../shared/api/types.ts'
import type { End } from '../kill.ts'

/** Says why containers were stopped, in the terms of the termination record. */
export interface Cause {
  cause: string
  /** Holds the message of the pod's status. */
  message?: string
}

/** The cause of a pod that ends because no container is to be restarted. */
export const BY_ITSELF = 'PodStopped'

/** `status`: the pod's last; undefined while it goes on. `removed`: its object or manifest is gone. */
export function causeOf({ cause, pod, ends }: End, status: PodStatus | undefined, removed = false): Cause {
  const message = status?.message ?? disruptionOf(status)
  if (cause !== 'Unknown' && ends === 'container') return { cause, message }
  // A pod that is deleted already is not evicted any more.
  if (pod.metadata.deletionTimestamp) return { cause: 'PodDeleted', message }
  if (cause !== 'Unknown') return { cause, message }
  // `DeadlineExceeded` stands in the status alone.
  if (ends === 'pod' && status?.reason) return { cause: status.reason, message }
  return { cause: removed ? 'PodDeleted' : BY_ITSELF, message }
}

const disruptionOf = (status: PodStatus | undefined): string | undefined =>
  status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')?.message
