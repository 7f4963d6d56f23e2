import type { Container, Pod } from '../../shared/api/types.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import type { KillCause } from './grace-period.ts'
import type { TerminationOrder } from './termination-order.ts'

/**
 * Says how much ends. If one container ends, its own rules decide its grace period; if the whole pod ends, its grace
 * period is decided already.
 */
export type Extent = { ends: 'container' } | { ends: 'pod'; graceSeconds: number }

/** Says why a pod, or one of its containers, ends. */
export interface End {
  pod: Pod
  ends: Extent['ends']
  cause: KillCause | 'Rejected' | 'Orphaned'
  /** The termination reason, which hooks and the record get. */
  reason?: string
}

/** A request to kill one container; {@link ContainerKiller} decides the grace and writes the event. */
export type KillRequest = Omit<End, 'cause' | 'ends'> &
  Extent & {
    cause: KillCause
    container: Container
    record: ContainerRecord
    podIP: string
    /** Sets the text of the Killing event; by default `Stopping container <name>`. */
    message?: string
    /** Present where the pod has sidecars, which are killed after the other containers. */
    order?: TerminationOrder
  }

/** A kill whose grace is decided, as the record takes it. */
export interface ContainerKill extends End {
  record: ContainerRecord
  graceSeconds: number
}

/** Describes the end of a pod while none of its containers runs. */
export interface IdleEnd extends Omit<End, 'ends'> {
  /** A container of the pod ran before, and would have run again. */
  hasRun: boolean
}
