import { rm } from 'node:fs/promises'
import type { Pod } from '../../shared/api/types.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { podDir, podLogDir } from './container-config.ts'
import type { RuntimeCache } from './runtime-cache.ts'
import type { RuntimePod } from './runtime-pod.ts'

/** Removes what is left on the node of pods that the API does not have any more. */
export interface PodCleanup {
  /** A pod that has ended: its records, files and logs. */
  remove(pod: Pod): Promise<void>
  /** What runs of pods that were deleted while no kubelet was there; nobody asked for them any more, so nobody is asked. */
  endOrphans(found: Map<string, RuntimePod>, known: Set<string>): Promise<void>
}

export function createPodCleanup(runtime: ContainerRuntime, cache: RuntimeCache, rootDir: string): PodCleanup {
  const removeTree = (dir: string) => rm(dir, { recursive: true, force: true })
  return {
    async remove(pod) {
      const uid = pod.metadata.uid ?? ''
      for (const { id } of (await cache.pod(uid)).sandboxes) await runtime.removeSandbox(id)
      await removeTree(podDir(rootDir, uid))
      await removeTree(podLogDir(rootDir, pod))
    },
    async endOrphans(found, known) {
      for (const [uid, { sandboxes }] of found) {
        if (known.has(uid)) continue
        for (const sandbox of sandboxes) {
          await runtime.stopSandbox(sandbox.id)
          await runtime.removeSandbox(sandbox.id)
          await removeTree(podLogDir(rootDir, { metadata: { ...sandbox, uid }, spec: { containers: [] } }))
        }
        await removeTree(podDir(rootDir, uid))
      }
    },
  }
}
