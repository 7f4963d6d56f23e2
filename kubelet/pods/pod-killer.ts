import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { ContainerKiller } from '../lifecycle/container-killer.ts'
import { createTerminationOrder } from '../lifecycle/termination-order.ts'
import { findContainer, sidecars } from '../pod/container-kinds.ts'
import type { KillCause } from '../pod/grace-period.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { containerFromRecord } from './container-config.ts'
import { type RuntimePod, runningContainers } from './runtime-pod.ts'

export interface KillPodOptions {
  /** For all containers alike; without it each has its own grace. */
  graceSeconds?: number
  cause?: KillCause
  /** By container, where they differ. */
  causes?: ReadonlyMap<string, KillCause>
  reason?: string
}
/** Stops all containers of a pod at the same time, sidecars in their order, and then its sandbox. */
export type KillPod = (pod: Pod, runtimePod: RuntimePod, options: KillPodOptions) => Promise<void>

export function createKillPod(runtime: ContainerRuntime, clock: Clock, killer: ContainerKiller): KillPod {
  return async (pod, runtimePod, { graceSeconds, cause = 'Unknown', causes, reason }) => {
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
        pod,
        container: findContainer(pod.spec, record.name) ?? containerFromRecord(record),
        record,
        podIP,
        cause: causes?.get(record.name) ?? cause,
        graceSeconds,
        order,
        reason,
      }),
    )
    const results = await Promise.allSettled(kills)
    for (const result of results) if (result.status === 'rejected') throw result.reason
    for (const { id } of runtimePod.sandboxes) await runtime.stopSandbox(id)
  }
}
