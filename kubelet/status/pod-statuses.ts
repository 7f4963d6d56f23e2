import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { RuntimePod } from '../runtime/runtime-pod.ts'
import { withTimes } from './conditions.ts'
import type { ProbeResults } from './container-statuses.ts'
import { deadlineMs, pastDeadline, podStatus } from './pod-status.ts'
import { withProbeResults } from './probe-results.ts'
import type { ReasonCache } from './reason-cache.ts'
import type { ResizeView } from './resize-view.ts'
import { withAllRemoved } from './restarting-all.ts'
import type { StatusChange } from './status-change.ts'
import type { StatusManager } from './status-manager.ts'

/** Computes a pod's status from what is true now, and hands it on to be written. */
export interface PodStatuses {
  write(pod: Pod, runtimePod: RuntimePod, options?: { podIsTerminal?: boolean; changes?: StatusChange[] }): PodStatus
  /** Reports at once that the pod's sandbox is ready, before the containers are started. */
  sandboxReady(pod: Pod): void
  /** Reports that the pod's containers are gone and will be started again, as by `RestartAllContainers`. */
  allRemoved(pod: Pod): void
  /** A probe has changed its mind. */
  probesChanged(pod: Pod): void
  /** Returns the time at which `activeDeadlineSeconds` ends. */
  deadlineMs(pod: Pod): number | undefined
}

export interface PodStatusesOptions {
  clock: Clock
  events: EventRecorder
  manager: StatusManager
  reasons: ReasonCache
  probes(pod: Pod): ProbeResults
  onTold?(pod: Pod, status: PodStatus): void
  resizes(pod: Pod): ResizeView
  hostIP: string
  featureGates: FeatureGates
}

export function createPodStatuses(options: PodStatusesOptions): PodStatuses {
  const { clock, events, manager, reasons, probes, hostIP, featureGates } = options
  const previousOf = (pod: Pod): PodStatus => manager.get(pod.metadata.uid ?? '') ?? pod.status ?? {}
  return {
    write(pod, runtime, { podIsTerminal = false, changes = [] } = {}) {
      const previous = previousOf(pod)
      const nowMs = clock.now()
      const waiting = (container: string) => reasons.get(pod.metadata.uid ?? '', container)
      const input = {
        pod,
        runtime,
        previous,
        nowMs,
        hostIP,
        podIsTerminal,
        waiting,
        probes: probes(pod),
        resizes: options.resizes(pod),
        featureGates,
      }
      const status = changes.reduce((changed, change) => change(changed), podStatus(input))
      if (pastDeadline(input)) {
        events.podEvent(pod, undefined, 'Normal', 'DeadlineExceeded', status.message ?? '')
      }
      manager.set(pod, status)
      options.onTold?.(pod, status)
      return status
    },
    sandboxReady(pod) {
      if (!featureGates.PodReadyToStartContainersCondition) return
      const status = previousOf(pod)
      const verdict = { type: 'PodReadyToStartContainers', status: 'True' } as const
      const ready = withTimes(verdict, status, pod.metadata.generation, toTime(clock.now()))
      const conditions = status.conditions?.map((condition) => (condition.type === ready.type ? ready : condition))
      manager.set(pod, { ...status, conditions })
    },
    allRemoved: (pod) => manager.set(pod, withAllRemoved(pod, previousOf(pod), toTime(clock.now()))),
    probesChanged(pod) {
      const status = manager.get(pod.metadata.uid ?? '')
      if (status) manager.set(pod, withProbeResults(pod, status, probes(pod), toTime(clock.now())))
    },
    deadlineMs: (pod) => deadlineMs(pod, previousOf(pod)),
  }
}
