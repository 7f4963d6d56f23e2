import type { Container, Pod, Probe } from '../../shared/api/types.ts'
import type { ProbeType } from '../pod/probe-types.ts'

export interface ProbeRun {
  pod: Pod
  container: Container
  type: ProbeType
  probe: Probe
  containerId: string
  /** When it aborts, the probe has no result. */
  signal: AbortSignal
}
