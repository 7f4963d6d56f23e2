import type { Pod } from '../../shared/api/types.ts'
import { ephemeralContainers, findContainer } from '../pod/container-kinds.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import { newestRecord, type RuntimePod } from '../runtime/runtime-pod.ts'
import type { ContainerKiller } from './container-killer.ts'

export interface RestartAllOptions {
  runtime: ContainerRuntime
  killer: ContainerKiller
}
/** Ends and forgets all containers of a pod; its sandbox, address, volumes and logs stay. */
export type RestartAll = (pod: Pod, runtimePod: RuntimePod, source: ContainerRecord) => Promise<void>

/**
 * Returns the function that ends the containers of a pod one after another, app containers first, without their hooks.
 * It removes the container that caused the restart last, so that a kubelet that restarts meanwhile finds that container
 * and continues. Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export function createRestartAll({ runtime, killer }: RestartAllOptions): RestartAll {
  return async (pod, runtimePod, source) => {
    const podIP = runtimePod.sandboxes[0]?.ip ?? ''
    for (const { name } of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
      const record = newestRecord(runtimePod, name)
      const container = findContainer(pod.spec, name)
      if (record?.state !== 'running' || !container) continue
      const kill = { pod, container, record, podIP, cause: 'RestartAllContainers', message: 'killing' } as const
      await killer.kill({ ...kill, ends: 'container' })
    }
    const mayStay = new Set(ephemeralContainers(pod.spec).map(({ name }) => name))
    for (const { id, name } of runtimePod.containers) {
      if (id !== source.id && !mayStay.has(name)) await runtime.removeContainer(id)
    }
    await runtime.removeContainer(source.id)
  }
}
