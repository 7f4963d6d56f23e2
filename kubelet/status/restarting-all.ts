import type { ContainerStatus, Pod, PodStatus } from '../../shared/api/types.ts'
import { readinessConditions, type Verdict, withTimes } from './conditions.ts'

/** Says why a container of a restarting pod waits, and how its previous instance ended. */
export const RESTARTING_ALL = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
}
const REMOVED = {
  exitCode: 137,
  ...RESTARTING_ALL,
  startedAt: null as unknown as undefined,
  finishedAt: null as unknown as undefined,
}

/** The status of a pod whose containers have just been removed, to be started again. */
export function withAllRemoved(pod: Pod, status: PodStatus, time: string): PodStatus {
  const init = status.initContainerStatuses?.map(removed)
  const app = (status.containerStatuses ?? []).map(removed)
  const conditions = status.conditions ?? []
  const phase = status.phase ?? 'Pending'
  const verdicts: Verdict[] = [
    ...readinessConditions({ pod, phase, init: init ?? [], app, conditions, before: conditions }),
    { type: 'AllContainersRestarting', status: 'False' },
  ]
  return {
    ...status,
    ...(init && { initContainerStatuses: init }),
    containerStatuses: app,
    conditions: conditions.map((condition) => {
      const verdict = verdicts.find(({ type }) => type === condition.type)
      return verdict ? withTimes(verdict, status, condition.observedGeneration, time) : condition
    }),
  }
}

/**
 * Returns the status of a removed container. A container that had ended keeps its ID, and an init container that had
 * succeeded stays ready.
 */
function removed(entry: ContainerStatus): ContainerStatus {
  const { containerID, ...rest } = entry
  const ended = entry.state?.terminated !== undefined
  return {
    ...rest,
    ...(ended && containerID && { containerID }),
    state: { waiting: { ...RESTARTING_ALL } },
    lastState: { terminated: { ...REMOVED } },
    ready: ended && entry.ready,
    started: false,
    restartCount: entry.restartCount + 1,
  }
}
