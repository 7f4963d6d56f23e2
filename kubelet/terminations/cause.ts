import type { PodStatus } from '../../shared/api/types.ts'
import type { StopRequest } from './stop-request.ts'

/** Why containers were stopped, in the terms of the record. */
export interface Cause {
  cause: string
  /** What the pod's status says of its end. */
  message?: string
}

/** `status`: the pod's last; undefined while it goes on. */
export function causeOf({ cause, pod, podEnds }: StopRequest, status: PodStatus | undefined): Cause {
  const message = status?.message ?? disruptionOf(status)
  if (cause !== 'Unknown' && !podEnds) return { cause, message }
  // A pod that is deleted already is not evicted any more.
  if (pod.metadata.deletionTimestamp) return { cause: 'PodDeleted', message }
  if (cause !== 'Unknown') return { cause, message }
  // `DeadlineExceeded` stands in the status alone.
  return { cause: (podEnds && status?.reason) || 'PodStopped', message }
}

const disruptionOf = (status: PodStatus | undefined): string | undefined =>
  status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')?.message
