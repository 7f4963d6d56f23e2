import { deliveryHeaderProblem } from '../../shared/api/delivery-header.ts'
import type { Pod, PreStopHandler } from '../../shared/api/types.ts'
import { annotatedReason } from '../../shared/reasons/annotated-reason.ts'
import { type Reason, reasonFor, type Situation } from '../../shared/reasons/reason-table.ts'
import { PROGRAM_BYTES, replaceReferences } from '../pod/expansion.ts'
import type { NodeCause } from './grace-period.ts'

/** Pod Termination Reason: how a preStop hook learns why its container must stop. */
export interface ReasonDelivery {
  /** The handler to run: its command, where that names the variable, has the reason in its place. */
  handler: PreStopHandler
  env: Record<string, string>
  headers: Record<string, string>
  /** Says what is wrong with the pod's `reasonDelivery`, and which name was used. */
  problem?: string
}

const situations: Record<NodeCause, Situation<'kubelet'>> = {
  Evicted: 'node pressure',
  NodeShutdown: 'node shutdown',
  Preempted: 'preempted by a critical pod',
}

/**
 * Reasons of the condition `DisruptionTarget`: the traces that a deletion leaves on an API server without
 * `metadata.reason`.
 */
const disruptions: Record<string, Reason | undefined> = {
  EvictionByEvictionAPI: reasonFor('Pod', 'evicted'),
  PreemptionByScheduler: reasonFor('scheduler', 'preemption'),
  DeletionByTaintManager: reasonFor('Node', 'NoExecute taint not tolerated'),
}

/**
 * The reason written on the object. Where there is none, as on every API server that is not Kubestage's: the annotation
 * of a pod that is deleted or that the kubelet ends, then the kubelet's own cause or what the pod's conditions say, by
 * the table.
 */
export function terminationReason(pod: Pod, cause?: NodeCause): string | undefined {
  const { reason, deletionTimestamp } = pod.metadata
  // A kubelet that ended before the pod that it evicted has left a reason there.
  if (!cause && !deletionTimestamp) return undefined
  return reason ?? annotatedReason(pod) ?? (cause ? reasonFor('kubelet', situations[cause]) : disruptionReason(pod))
}

function disruptionReason({ status }: Pod): Reason | undefined {
  const disruption = status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
  return disruptions[disruption?.reason ?? '']
}

/** Without a reason nothing is delivered: the variable and the header are absent then, not empty. */
export function deliverReason(handler: PreStopHandler, reason: string | undefined): ReasonDelivery {
  const delivery: ReasonDelivery = { handler, env: {}, headers: {} }
  if (reason === undefined) return delivery
  if (handler.exec) {
    const { name, problem } = carrier(handler, 'env')
    const command = withFlags(handler.exec.command, name, reason)
    return { ...delivery, handler: { ...handler, exec: { command } }, env: { [name]: reason }, problem }
  }
  if (!handler.httpGet) return delivery
  const { name, problem } = carrier(handler, 'header')
  return { ...delivery, headers: { [name]: reason }, problem }
}

const defaults = { env: 'KUBE_POD_TERM_REASON', header: 'KUBE-POD-TERM-REASON' }
/** Checks if a name can carry the reason at all, because stored pods and static pods may have passed no validation. */
const isUsable = {
  env: (name: string): boolean => /^[^=\0]+$/.test(name),
  header: (name: string): boolean => deliveryHeaderProblem(name) === undefined,
}

/** The name that `reasonDelivery` gives, where that can be used, else the default. */
function carrier({ reasonDelivery }: PreStopHandler, field: 'env' | 'header'): { name: string; problem?: string } {
  if (!reasonDelivery) return { name: defaults[field] }
  const given = reasonDelivery[field]
  const isGood = typeof given === 'string' && isUsable[field](given)
  const name = isGood ? given : defaults[field]
  const isOnlyOne = Object.values(reasonDelivery).filter((value) => typeof value === 'string').length === 1
  return isGood && isOnlyOne ? { name } : { name, problem: malformed(field, name) }
}

const malformed = (field: string, name: string): string =>
  `lifecycle.preStop.reasonDelivery must set exactly "${field}" here, to a valid name; the reason is delivered as ${name}`

/**
 * `--reason=$(KUBE_POD_TERM_REASON)` in a hook's command: that name alone is replaced. All else stays as upstream runs
 * it, since `$(date)` and `$$` are code where the command is a shell. `$$(NAME)` is not a reference. A command that has
 * outgrown what a program can be given is left as it is, and cannot be executed.
 */
function withFlags(command: readonly string[] | undefined, name: string, reason: string): string[] | undefined {
  let room = PROGRAM_BYTES
  return command?.map((word) =>
    replaceReferences(word, (found, named) => {
      if (named !== name || room < 0) return found
      room -= reason.length
      return reason
    }),
  )
}
