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
  /** Names the outermost owner that is known from the pod alone, by kind and name: `Deployment/web`. */
  workload?: string
  verdict?: string
  verdictType?: string
  reason?: string
  cause?: string
  /** Holds the message of the pod's status at its end. */
  message?: string
  requests?: TerminationRequest[]
  deletionTimestamp?: string
  gracePeriodSeconds?: number
  used?: string
  startTime?: string
  endTime?: string
  phase?: string
  /** Lists the steps of the pod as a whole; the server sets them. */
  steps?: TerminationStep[]
  containers?: TerminatedContainer[]
  /**
   * Counts the requests that `kubestage load` sent to the pod, or the connections that Services led there, and that were
   * lost.
   */
  lostRequests?: LostRequests[]
}
export interface LostRequests {
  /** Holds a LossKind of shared/record/format.ts. */
  kind: string
  count: number
}
/** Lists the kinds of verdicts. The verdict's text has the figures. */
export type VerdictType =
  | 'OutOfMemory'
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
  /** Names the step: `PreStop`, `WaitForContainers`, or a signal; for the pod `EndpointRemoved`. */
  name: string
  startTime: string
  endTime?: string
  outcome?: string
  exitCode?: number
  httpStatus?: number
  message?: string
  output?: string
}
