import type { Pod } from '../../shared/api/types.ts'
import type { KillCause } from '../pod/grace-period.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'

/** What is about to end, and why. */
export interface EndRequest {
  pod: Pod
  /** The whole pod ends, not one container alone. */
  podEnds: boolean
  cause: KillCause | 'Rejected' | 'Orphaned'
  reason?: string
}

/** A container that is about to be stopped. */
export interface StopRequest extends EndRequest {
  record: ContainerRecord
  graceSeconds: number
}

/** A pod that ends while none of its containers runs. */
export interface IdleEnd extends Omit<EndRequest, 'podEnds'> {
  /** A container of the pod ran before, and would have run again. */
  hasRun: boolean
}
