import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { ContainerStatus, Pod, PodStatus } from '../../shared/api/types.ts'

const LOST = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
  startedAt: null as unknown as undefined,
  finishedAt: null as unknown as undefined,
}

/**
 * The last status of a pod that is over: whatever was not seen to end, ended unknown; a phase that is not final is
 * Failed.
 */
export function statusAtEnd(pod: Pod, status: PodStatus): PodStatus {
  const { initContainers } = pod.spec
  const initialized = !initContainers?.length || hasInitialized(pod, status)
  const app = status.containerStatuses?.map((entry) => (initialized ? ended(entry) : entry))
  const init = status.initContainerStatuses?.map((entry) => (wasStarted(entry) ? ended(entry) : entry))
  return {
    ...status,
    phase: isTerminalPhase(status.phase) ? status.phase : 'Failed',
    ...(init && { initContainerStatuses: init }),
    containerStatuses: app,
  }
}

const hasInitialized = (pod: Pod, status: PodStatus): boolean =>
  status.containerStatuses?.some(wasStarted) ||
  (pod.spec.initContainers ?? []).every(({ name, restartPolicy }) => {
    const entry = status.initContainerStatuses?.find((candidate) => candidate.name === name)
    return restartPolicy === 'Always' ? entry && wasStarted(entry) : entry?.state?.terminated?.exitCode === 0
  })
const wasStarted = ({ state, lastState, containerID }: ContainerStatus): boolean =>
  Boolean(containerID || state?.running || state?.terminated || lastState?.terminated)
const ended = (entry: ContainerStatus): ContainerStatus =>
  entry.state?.terminated ? entry : { ...entry, state: { terminated: { ...LOST } } }
