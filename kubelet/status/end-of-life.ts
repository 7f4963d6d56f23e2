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
 * Returns the last status of a pod that is over: whatever was not seen to end, ended unknown; a phase that is not final
 * is Failed. As upstream's `TerminatePod`, it takes init containers up to the last that was started, and at least one;
 * and other containers if the pod was initialized in the status that the object had `before` its containers stopped.
 */
export function statusAtEnd(pod: Pod, { status, before }: { status: PodStatus; before?: PodStatus }): PodStatus {
  const { initContainers } = pod.spec
  const initialized = !initContainers?.length || hasInitialized(pod, before ?? status)
  const app = status.containerStatuses?.map((entry) => (initialized ? ended(entry) : entry))
  const begun = Math.max(1, 1 + (status.initContainerStatuses?.findLastIndex(wasStarted) ?? 0))
  const init = status.initContainerStatuses?.map((entry, index) => (index < begun ? ended(entry) : entry))
  return {
    ...status,
    phase: isTerminalPhase(status.phase) ? status.phase : 'Failed',
    ...(init && { initContainerStatuses: init }),
    containerStatuses: app,
  }
}

function hasInitialized(pod: Pod, { containerStatuses, initContainerStatuses }: PodStatus): boolean {
  if (containerStatuses?.some(wasStarted)) return true
  const last = pod.spec.initContainers?.at(-1)
  const { state, lastState, started } = initContainerStatuses?.find(({ name }) => name === last?.name) ?? {}
  if (last?.restartPolicy === 'Always') return state?.running !== undefined && started === true
  return [state, lastState].some((one) => one?.terminated?.exitCode === 0)
}
const wasStarted = ({ state, lastState, containerID }: ContainerStatus): boolean =>
  Boolean(containerID || state?.running || state?.terminated || lastState?.terminated)
const ended = (entry: ContainerStatus): ContainerStatus =>
  entry.state?.terminated ? entry : { ...entry, state: { terminated: { ...LOST } } }
