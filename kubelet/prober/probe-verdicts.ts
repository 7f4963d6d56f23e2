import type { Container } from '../../shared/api/types.ts'

/** What the probes found, by container id, and what else ends a container that runs. */
export interface ProbeVerdicts {
  livenessFailed(containerId: string): boolean
  startup(containerId: string): 'success' | 'failure' | 'unknown'
  /** It is to have other resources, which it can only have from its start. */
  mustResize?(container: Container): boolean
}
