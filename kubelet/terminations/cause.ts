import type { PodStatus } from '../../shared/api/types.ts'
import { SHUTDOWN_MESSAGE } from '../node/shutdown.ts'
import type { StopRequest } from './termination-recorder.ts'

/** Why containers were stopped, in the terms of the record. */
export interface Cause {
  cause: string
  /** What the pod's status says of its end. */
  message?: string
}

/** `status`: the pod's last; undefined while it goes on. */
export function causeOf({ cause, pod, podEnds, reason }: StopRequest, status: PodStatus | undefined): Cause {
  const message = status?.message ?? disruptionOf(status)
  if (cause !== 'Unknown') return { cause, message }
  if (pod.metadata.deletionTimestamp) return { cause: 'PodDeleted', message }
  if (!podEnds) return { cause: 'PodStopped', message }
  if (message === SHUTDOWN_MESSAGE) return { cause: 'NodeShutdown', message }
  // `Evicted` and `DeadlineExceeded` say it themselves; but a pod whose containers all end with 0 succeeds, and its status has no reason.
  return { cause: status?.reason ?? (reason === 'Eviction' ? 'Evicted' : 'PodStopped'), message }
}

const disruptionOf = (status: PodStatus | undefined): string | undefined =>
  status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')?.message
