import type { Pod } from '../../shared/api/types.ts'
import type { KillCause } from '../pod/grace-period.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'

/** A container that is about to be stopped, and why. */
export interface StopRequest {
  pod: Pod
  record: ContainerRecord
  graceSeconds: number
  /** The whole pod ends, not this container alone. */
  podEnds: boolean
  cause: KillCause
  reason?: string
}
