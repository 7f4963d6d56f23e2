import type { Pod } from '../../shared/api/types.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import type { PodStatuses } from '../status/pod-statuses.ts'

export interface SyncTerminatedPodOptions {
  cache: RuntimeCache
  statuses: PodStatuses
  removeProbes(pod: Pod): void
}

/** Nothing of the pod runs: its phase can be told. */
export function createSyncTerminatedPod(options: SyncTerminatedPodOptions) {
  return async (pod: Pod): Promise<void> => {
    options.removeProbes(pod)
    options.statuses.write(pod, await options.cache.pod(pod.metadata.uid ?? ''), { podIsTerminal: true })
  }
}
