import type { ContainerStatus, Pod, PodStatus } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import { readinessConditions, withTimes } from './conditions.ts'
import type { ProbeResults } from './container-statuses.ts'

/**
 * A status with what the probes found since: readiness changes at once, without a sync of the pod, which may be busy
 * killing it.
 */
export function withProbeResults(pod: Pod, status: PodStatus, probes: ProbeResults, time: string): PodStatus {
  const probed = (entry: ContainerStatus): ContainerStatus => {
    if (!entry.state?.running || !entry.containerID) return entry
    const id = entry.containerID.slice(entry.containerID.indexOf('://') + 3)
    const started = probes.started(entry.name, id)
    return { ...entry, started, ready: started && probes.ready(entry.name, id) }
  }
  const sidecars = new Set((pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  const init = status.initContainerStatuses?.map((entry) => (sidecars.has(entry.name) ? probed(entry) : entry))
  const app = (status.containerStatuses ?? []).map(probed)
  const verdicts = readinessConditions({
    pod,
    phase: status.phase ?? 'Pending',
    init: init ?? [],
    app,
    conditions: pod.status?.conditions ?? [],
    before: status.conditions ?? [],
  })
  const conditions = (status.conditions ?? []).map((condition) => {
    const verdict = verdicts.find(({ type }) => type === condition.type)
    return verdict ? withTimes(verdict, status, condition.observedGeneration, time) : condition
  })
  return { ...status, ...(init && { initContainerStatuses: init }), containerStatuses: app, conditions }
}
