import type { Container, Probe } from '../../shared/api/types.ts'

export type ProbeType = 'liveness' | 'readiness' | 'startup'
export type ProbeResult = 'success' | 'failure' | 'unknown'

export const PROBE_TYPES: ProbeType[] = ['startup', 'readiness', 'liveness']
export const probeOf = (container: Container, type: ProbeType): Probe | undefined =>
  ({ liveness: container.livenessProbe, readiness: container.readinessProbe, startup: container.startupProbe })[type]
/** As events name it. */
export const titleOf = (type: ProbeType): string =>
  ({ liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' })[type]
/** What holds for a container until its first run says otherwise. */
export const INITIAL: Record<ProbeType, ProbeResult> = { liveness: 'success', readiness: 'failure', startup: 'unknown' }
