import type { Pod } from '../../shared/api/types.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { diskUsage } from '../volumes/disk-usage.ts'
import { isInMemory } from '../volumes/memory-volume.ts'
import type { VolumeManager } from '../volumes/volume-manager.ts'
import type { DiskUsage, PodUsage } from './pod-usage.ts'

const nothing: PodUsage = { containers: [], volumes: new Map() }

/** Asks the runtime what the containers use, and counts what is in the pods' emptyDir volumes. */
export function createPodMeter({
  runtime,
  volumePath,
}: {
  runtime: ContainerRuntime
  volumePath: VolumeManager['path']
}) {
  async function volumesOf(pod: Pod): Promise<Map<string, DiskUsage>> {
    const sizes = new Map<string, DiskUsage>()
    for (const volume of pod.spec.volumes ?? []) {
      if (!volume.emptyDir) continue
      const inMemory = isInMemory(volume) && runtime.memoryFolders !== undefined
      sizes.set(volume.name, { ...(await diskUsage(volumePath(pod, volume))), inMemory })
    }
    return sizes
  }
  return async (pods: readonly Pod[]): Promise<(pod: Pod) => PodUsage> => {
    const usage = await runtime.usage()
    const found = new Map<string, PodUsage>()
    for (const pod of pods) {
      const uid = pod.metadata.uid ?? ''
      const containers = usage.filter(({ podUid }) => podUid === uid)
      found.set(uid, { containers, volumes: await volumesOf(pod) })
    }
    return ({ metadata }) => found.get(metadata.uid ?? '') ?? nothing
  }
}
