import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import { MINIMUM_GRACE_SECONDS } from '../ending/grace-period.ts'
import type { KillOptions } from '../ending/pod-state-machine.ts'
import { CRITICAL_PRIORITY } from '../pod/critical-pod.ts'
import { disruptedByKubelet } from '../status/disruption.ts'
import type { StatusChange } from '../status/status-change.ts'

/** Pods of at least this priority, up to the next group's, have so long when the node goes down. */
export interface ShutdownGroup {
  priority: number
  graceSeconds: number
}

/** The status of a pod that ends with its node shows this message. */
export const SHUTDOWN_MESSAGE = 'Pod was terminated in response to imminent node shutdown.'

/**
 * All pods but critical ones share what the critical ones do not need; upstream: `shutdownGracePeriod`,
 * `…CriticalPods`.
 */
export const twoGroups = (totalSeconds: number, criticalSeconds: number): ShutdownGroup[] => [
  { priority: 0, graceSeconds: totalSeconds - criticalSeconds },
  { priority: CRITICAL_PRIORITY, graceSeconds: criticalSeconds },
]

/**
 * Returns each group with its pods, least important first. A pod whose priority is below all groups belongs to the
 * lowest group.
 */
export function inGroups(pods: readonly Pod[], groups: readonly ShutdownGroup[]): [ShutdownGroup, Pod[]][] {
  const ascending = groups.toSorted((a, b) => a.priority - b.priority)
  const indexOf = ({ spec: { priority = 0 } }: Pod): number =>
    Math.max(
      0,
      ascending.findLastIndex((group) => group.priority <= priority),
    )
  return ascending.map((group, index) => [group, pods.filter((pod) => indexOf(pod) === index)])
}

export interface ShutdownOptions {
  clock: Clock
  pods: readonly Pod[]
  groups: readonly ShutdownGroup[]
  kill(pod: Pod, options: KillOptions): Promise<void>
}

/**
 * Ends all pods, the important ones last; resolves when they have ended, or had their time. Upstream:
 * pkg/kubelet/nodeshutdown.
 */
export async function endPods({ clock, pods, groups, kill }: ShutdownOptions): Promise<void> {
  for (const [{ graceSeconds }, members] of inGroups(pods, groups)) {
    const kills = members.map((pod) =>
      kill(pod, {
        graceSeconds: Math.min(graceSeconds, pod.spec.terminationGracePeriodSeconds ?? graceSeconds),
        cause: 'NodeShutdown',
        status: shutDown(pod, toTime(clock.now())),
      }),
    )
    // A process always has two seconds after its hook, and its death is to be told.
    await withinLimit(Promise.all(kills), (graceSeconds + MINIMUM_GRACE_SECONDS) * 1000, clock)
  }
}

const shutDown =
  ({ metadata: { generation } }: Pod, time: string): StatusChange =>
  (status: PodStatus) => ({
    ...status,
    phase: isTerminalPhase(status.phase) ? status.phase : 'Failed',
    reason: 'Terminated',
    message: SHUTDOWN_MESSAGE,
    conditions: disruptedByKubelet(status, { message: SHUTDOWN_MESSAGE, generation, time }),
  })
