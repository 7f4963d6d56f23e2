import type { Container } from '../../shared/api/types.ts'

/** Holds the results of probes by container ID, and what else ends a running container. */
export interface ProbeVerdicts {
  livenessFailed(containerId: string): boolean
  startup(containerId: string): 'success' | 'failure' | 'unknown'
  /** Says if the container must restart to get the resources that its spec has now. */
  mustResize?(container: Container): boolean
}
