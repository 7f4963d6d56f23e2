import type { LifecycleHandler } from '../../shared/api/types.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'

/**
 * Runs one action of a probe or a hook. Probes add thresholds to it; hooks add a deadline and the termination reason.
 */
export interface ActionHandler {
  run(action: Action, target: ActionTarget, options: ActionOptions): Promise<ActionResult>
}
export type Action = LifecycleHandler & { grpc?: { port: number; service?: string } }
export interface ActionTarget {
  runtime: ContainerRuntime
  containerId: string
  podIP: string
  /** Named ports of the container. */
  ports: { name?: string; containerPort: number }[]
}
/** The message of an action that its signal broke off. */
export const CANCELED = 'context canceled'

export interface ActionOptions {
  timeoutMs?: number
  /** Adds variables to the environment of an exec action. */
  env?: Record<string, string>
  /** Headers that replace those of the same name in an httpGet action. */
  headers?: Record<string, string>
  /** `kube-lifecycle/1.36` or `kube-probe/1.36`, and what else differs between hooks and probes. */
  userAgent: string
  purpose: 'hook' | 'probe'
  /** When it aborts, the action ends and its connection is closed. */
  signal?: AbortSignal
}
export interface ActionResult {
  outcome: 'success' | 'failure' | 'timeout' | 'error'
  /** Output of the command, or body of the answer; bounded. */
  output: string
  exitCode?: number
  httpStatus?: number
  /** Describes the result in upstream's words, for events. */
  message: string
  /** A success that deserves a word: the text of a ProbeWarning. */
  warning?: string
}
