import type { Pod } from '../../shared/api/types.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { RuntimeCache } from '../runtime/runtime-cache.ts'
import { runningContainers } from '../runtime/runtime-pod.ts'
import type { PodStatuses } from '../status/pod-statuses.ts'
import type { IdleEnd } from './kill.ts'
import type { KillPod } from './kill-pod.ts'
import type { PodWork } from './pod-state-machine.ts'
import { terminationReason } from './termination-reason.ts'

export interface SyncTerminatingPodOptions {
  cache: RuntimeCache
  statuses: PodStatuses
  killPod: KillPod
  /** The kubelet itself ends the pod. */
  tellReason(pod: Pod, reason: string): void
  /** Notes the end of a pod in which no container runs. */
  endsIdle(end: IdleEnd): void
  featureGates: FeatureGates
  /** Liveness and startup have no say any more; readiness is still told. */
  stopKillingProbes(pod: Pod): void
  removeProbes(pod: Pod): void
}

/**
 * Returns the step that ends all containers of a pod. While containers run, the status shows them as they were, and no
 * terminal phase is reported. When the step resolves, no container of the pod runs; it rejects if one still runs after
 * its kill.
 */
export function createSyncTerminatingPod(options: SyncTerminatingPodOptions) {
  return async (pod: Pod, work: PodWork, graceSeconds: () => number): Promise<void> => {
    const uid = pod.metadata.uid ?? ''
    const before = await options.cache.pod(uid)
    options.statuses.write(pod, before, { changes: work.statusChanges })
    options.stopKillingProbes(pod)
    const reason = options.featureGates.PodTerminationReason ? terminationReason(pod, work.cause) : undefined
    if (work.cause && reason !== undefined) options.tellReason(pod, reason)
    const { cause = 'Unknown' } = work
    if (runningContainers(before).length === 0) {
      options.endsIdle({ pod, cause, reason, hasRun: before.containers.length > 0 })
    }
    await options.killPod(pod, before, { ends: 'pod', graceSeconds: graceSeconds(), cause, reason })
    options.removeProbes(pod)
    const left = runningContainers(await options.cache.pod(uid))
    if (left.length > 0) throw new Error(`containers still run after their kill: ${left.map(({ name }) => name)}`)
  }
}
