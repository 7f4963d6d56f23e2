import type { Container, Probe } from '../../shared/api/types.ts'

export type ProbeType = 'liveness' | 'readiness' | 'startup'
export type ProbeResult = 'success' | 'failure' | 'unknown'

export const PROBE_TYPES: ProbeType[] = ['startup', 'readiness', 'liveness']
export const probeOf = (container: Container, type: ProbeType): Probe | undefined =>
  ({ liveness: container.livenessProbe, readiness: container.readinessProbe, startup: container.startupProbe })[type]
/** Returns the name of a probe type as events show it. */
export const titleOf = (type: ProbeType): string =>
  ({ liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' })[type]
/** Holds the result that a container has until the first run of its probe. */
export const INITIAL: Record<ProbeType, ProbeResult> = { liveness: 'success', readiness: 'failure', startup: 'unknown' }
