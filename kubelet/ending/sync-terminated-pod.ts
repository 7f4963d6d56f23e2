import type { Pod } from '../../shared/api/types.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import type { PodStatuses } from '../status/pod-statuses.ts'

export interface SyncTerminatedPodOptions {
  cache: RuntimeCache
  statuses: PodStatuses
  removeProbes(pod: Pod): void
}

/**
 * Returns the last step of a pod's end. Its caller ensures that no container of the pod runs; it then removes the
 * probes and writes the terminal phase.
 */
export function createSyncTerminatedPod(options: SyncTerminatedPodOptions) {
  return async (pod: Pod): Promise<void> => {
    options.removeProbes(pod)
    options.statuses.write(pod, await options.cache.pod(pod.metadata.uid ?? ''), { podIsTerminal: true })
  }
}
