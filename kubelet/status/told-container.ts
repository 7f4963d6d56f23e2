import type { ContainerStatus, PodStatus } from '../../shared/api/types.ts'

/** What a pod's status says of one of its containers; nothing of ephemeral ones, which never run again. */
export const toldContainer = (status: PodStatus | undefined, name: string): ContainerStatus | undefined =>
  status?.containerStatuses?.find((entry) => entry.name === name) ??
  status?.initContainerStatuses?.find((entry) => entry.name === name)
