import type { ContainerStatus, PodStatus } from '../../shared/api/types.ts'

/** Returns the status of one of the pod's containers. It ignores ephemeral containers, which never run again. */
export const findContainerStatus = (status: PodStatus | undefined, name: string): ContainerStatus | undefined =>
  status?.containerStatuses?.find((entry) => entry.name === name) ??
  status?.initContainerStatuses?.find((entry) => entry.name === name)
