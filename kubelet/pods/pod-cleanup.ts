import { existsSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Pod } from '../../shared/api/types.ts'
import { namesIn } from '../../shared/files/readable.ts'
import { podDir, podLogDir, podLogDirs, VOLUMES } from '../pod/folders.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import { isRunning, type RuntimePod } from '../runtime/runtime-pod.ts'

/** Removes what is left on the node of pods that the API does not have any more. */
export interface PodCleanup {
  /** A pod that has ended: its records, files and logs. */
  remove(pod: Pod): Promise<void>
  /**
   * Ends pods that were deleted while no kubelet was running; there is no object any more that could give a grace
   * period. What a kubelet that was killed had not yet removed of others is removed.
   */
  endOrphans(found: Map<string, RuntimePod>, known: Set<string>): Promise<void>
}

export interface PodCleanupOptions {
  runtime: ContainerRuntime
  cache: RuntimeCache
  /** Ends the containers of a pod that the API has forgotten. */
  endOrphan(pod: Pod, running: ContainerRecord[]): Promise<void>
  rootDir: string
  /** Pods have files here, and logs. */
  podFiles: boolean
  onError(error: unknown, pod: Pod): void
}

export function createPodCleanup(options: PodCleanupOptions): PodCleanup {
  const { runtime, cache, rootDir, endOrphan, onError } = options
  const removeTree = async (dir: string): Promise<void> => {
    if (!options.podFiles || !existsSync(dir)) return
    // A few files are removed at once; volumes may hold any number.
    if (existsSync(path.join(dir, VOLUMES))) {
      await runtime.memoryFolders?.unmountBelow(dir)
      await rm(dir, { recursive: true, force: true })
    } else rmSync(dir, { recursive: true, force: true })
  }
  return {
    async remove(pod) {
      const uid = pod.metadata.uid ?? ''
      for (const { id } of (await cache.pod(uid)).sandboxes) await runtime.removeSandbox(id)
      await removeTree(podDir(rootDir, uid))
      await removeTree(podLogDir(rootDir, pod))
    },
    async endOrphans(found, known) {
      // What is there now is not that of a pod which comes meanwhile.
      const left = options.podFiles
        ? foldersOf(rootDir, (uid) => !known.has(uid) && !found.get(uid)?.sandboxes.length)
        : []
      await Promise.all(
        [...found].map(async ([uid, { sandboxes, containers }]) => {
          const [sandbox] = sandboxes
          if (known.has(uid) || !sandbox) return
          const { namespace, name } = sandbox
          const pod: Pod = { metadata: { namespace, name, uid }, spec: { containers: [] } }
          try {
            await endOrphan(pod, containers.filter(isRunning))
            for (const { id } of sandboxes) await runtime.removeSandbox(id)
            await removeTree(podLogDir(rootDir, pod))
            await removeTree(podDir(rootDir, uid))
          } catch (error) {
            onError(error, pod)
          }
        }),
      )
      for (const folder of left) await removeTree(folder)
    },
  }
}

/** Returns the folders of pods, with those of their logs, whose UIDs are meant. */
function foldersOf(rootDir: string, isMeant: (uid: string) => boolean): string[] {
  const uids = namesIn(podDir(rootDir, '')).filter(isMeant)
  const logs = namesIn(podLogDirs(rootDir)).filter((name) => isMeant(name.split('_')[2] ?? ''))
  return [...uids.map((uid) => podDir(rootDir, uid)), ...logs.map((name) => path.join(podLogDirs(rootDir), name))]
}
