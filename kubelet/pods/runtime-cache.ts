import type { ContainerRecord, ContainerRuntime, Sandbox } from '../runtime/container-runtime.ts'
import { emptyRuntimePod, type RuntimePod } from './runtime-pod.ts'

/** The runtime's records by pod. */
export interface RuntimeCache {
  /** As it is now: seen not earlier than the call. */
  pod(podUid: string): Promise<RuntimePod>
  pods(): Promise<Map<string, RuntimePod>>
}

/** Completes a record with what the runtime does not know, e.g. the termination message. */
export type CompleteRecord = (record: ContainerRecord) => ContainerRecord

/** One listing serves all that ask while the one before is under way. */
export function createRuntimeCache(runtime: ContainerRuntime, complete: CompleteRecord): RuntimeCache {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<Map<string, RuntimePod>> | undefined

  function pods(): Promise<Map<string, RuntimePod>> {
    if (next) return next
    const listing = current.then(async () => {
      next = undefined
      return byPod(await runtime.list())
    })
    current = listing.catch(() => {})
    next = listing
    return listing
  }

  return {
    pods,
    async pod(podUid) {
      const found = (await pods()).get(podUid)
      if (!found) return emptyRuntimePod
      return { ...found, containers: found.containers.map(complete) }
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
