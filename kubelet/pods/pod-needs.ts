import type { Container } from '../../shared/api/types.ts'
import type { KillCause } from '../ending/grace-period.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'

export interface PodActions {
  /** All containers and the sandbox go; then, if `createSandbox`, the pod restarts. */
  killPod: boolean
  /** Says why containers end, by their names, if the pod ends with them. Absent if the others have ended. */
  causes?: ReadonlyMap<string, KillCause>
  createSandbox: boolean
  ephemeralContainersToStart: Container[]
  initContainersToStart: Container[]
  containersToStart: Container[]
  containersToKill: ContainerToKill[]
  /** The container whose end restarts the whole pod. */
  restartAll?: ContainerRecord
}
export interface ContainerToKill {
  record: ContainerRecord
  container: Container
  message: string
  cause: KillCause
}
