import type { ObjectMeta } from './types.ts'

/**
 * kubestage.dev/v1 Termination: how a pod ended, or how containers of a pod were stopped that goes on.
 */
export interface Termination {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  podName?: string
  podUID?: string
  nodeName?: string
  /** `Deployment/web`: kind and name of the outermost that is known from the pod alone. */
  workload?: string
  verdict?: string
  verdictType?: string
  reason?: string
  cause?: string
  /** The pod's own, at its end. */
  message?: string
  requests?: TerminationRequest[]
  deletionTimestamp?: string
  gracePeriodSeconds?: number
  used?: string
  startTime?: string
  endTime?: string
  phase?: string
  /** Steps of the pod as a whole; set by the server. */
  steps?: TerminationStep[]
  containers?: TerminatedContainer[]
  /** Requests that `kubestage load` sent to the pod, and that were lost. */
  lostRequests?: LostRequests[]
}
export interface LostRequests {
  /** A LossKind of shared/record/format.ts. */
  kind: string
  count: number
}
/** The kinds of verdicts; a record's text has the figures. */
export type VerdictType =
  | 'EndedInHook'
  | 'EndedUnasked'
  | 'HookOverranKilled'
  | 'HookOverran'
  | 'NoHandler'
  | 'IgnoredSignal'
  | 'CaughtButWentOn'
  | 'Killed'
  | 'KilledAtDeadline'
  | 'StoppedWithError'
  | 'Stopped'
  | 'NotRunning'
  | 'NotStarted'
  | 'NotSeen'
/** A request that began a deletion, or changed it. Only the server knows who asks. */
export interface TerminationRequest {
  user: string
  time: string
  gracePeriodSeconds?: number
  reason?: string
}
export interface TerminatedContainer {
  name: string
  verdict: string
  verdictType?: string
  gracePeriodSeconds: number
  used: string
  exitCode?: number
  signal?: string
  steps: TerminationStep[]
}
export interface TerminationStep {
  /** `PreStop`, `WaitForContainers`, or a signal; of the pod `EndpointRemoved`. */
  name: string
  startTime: string
  endTime?: string
  outcome?: string
  exitCode?: number
  httpStatus?: number
  message?: string
  output?: string
}
