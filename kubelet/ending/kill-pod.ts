import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { findContainer, sidecars } from '../pod/container-kinds.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { containerFromRecord } from '../runtime/recorded-container.ts'
import { type RuntimePod, runningContainers } from '../runtime/runtime-pod.ts'
import type { ContainerKiller } from './container-killer.ts'
import type { KillCause } from './grace-period.ts'
import type { Extent } from './kill.ts'
import { createTerminationOrder } from './termination-order.ts'

export type KillPodOptions = Extent & {
  /** Says what caused the kill; `Unknown` by default. */
  cause?: KillCause
  /** The causes of single containers, by name, where they differ from `cause`. */
  causes?: ReadonlyMap<string, KillCause>
  reason?: string
}
/** Kills all containers of a pod at the same time, sidecars in their order, and then stops its sandbox. */
export type KillPod = (pod: Pod, runtimePod: RuntimePod, options: KillPodOptions) => Promise<void>

export function createKillPod(runtime: ContainerRuntime, clock: Clock, killer: ContainerKiller): KillPod {
  return async (pod, runtimePod, { cause = 'Unknown', causes, reason, ...extent }) => {
    const running = runningContainers(runtimePod)
    const order =
      sidecars(pod.spec).length > 0
        ? createTerminationOrder(
            pod.spec,
            running.map(({ name }) => name),
            clock,
          )
        : undefined
    const podIP = runtimePod.sandboxes[0]?.ip ?? ''
    const kills = running.map((record) =>
      killer.kill({
        ...extent,
        pod,
        container: findContainer(pod.spec, record.name) ?? containerFromRecord(record),
        record,
        podIP,
        cause: causes?.get(record.name) ?? cause,
        order,
        reason,
      }),
    )
    const results = await Promise.allSettled(kills)
    for (const result of results) if (result.status === 'rejected') throw result.reason
    for (const { id } of runtimePod.sandboxes) await runtime.stopSandbox(id)
  }
}
