import type { ContainerRecord, ContainerRuntime, Sandbox } from './container-runtime.ts'
import { emptyRuntimePod, type RuntimePod } from './runtime-pod.ts'

export interface RuntimeCache {
  /** Reads the pod's records as they are now. */
  pod(podUid: string): Promise<RuntimePod>
  pods(): Promise<Map<string, RuntimePod>>
}

/** Completes a record with what the runtime does not know, e.g. the termination message. */
export type CompleteRecord = (record: ContainerRecord) => ContainerRecord

export function createRuntimeCache(runtime: ContainerRuntime, complete: CompleteRecord): RuntimeCache {
  return {
    pods: async () => byPod(await runtime.list()),
    async pod(podUid) {
      const { sandboxes, containers } = await runtime.list(podUid)
      if (sandboxes.length + containers.length === 0) return emptyRuntimePod
      return { sandboxes: sandboxes.toReversed(), containers: containers.map(complete).reverse() }
    },
  }
}

function byPod({ sandboxes, containers }: { sandboxes: Sandbox[]; containers: ContainerRecord[] }) {
  const pods = new Map<string, RuntimePod>()
  const of = (podUid: string): RuntimePod => {
    const known = pods.get(podUid) ?? { sandboxes: [], containers: [] }
    pods.set(podUid, known)
    return known
  }
  for (const sandbox of sandboxes) of(sandbox.podUid).sandboxes.unshift(sandbox)
  for (const container of containers) of(container.podUid).containers.unshift(container)
  return pods
}
