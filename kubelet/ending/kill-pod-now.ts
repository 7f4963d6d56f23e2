import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { KillOptions } from './pod-state-machine.ts'

/**
 * Ends a pod for the node's sake, and waits for it: half as long again as its grace, at least ten seconds. True when it
 * has ended.
 */
export type KillPodNow = (pod: Pod, options: KillOptions) => Promise<boolean>

const LEAST_WAIT_SECONDS = 10

export function createKillPodNow(options: {
  clock: Clock
  events: EventRecorder
  kill(pod: Pod, options: KillOptions): Promise<void>
}): KillPodNow {
  return async (pod, kill) => {
    const graceSeconds = kill.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0
    const waitSeconds = Math.max(LEAST_WAIT_SECONDS, graceSeconds + Math.floor(graceSeconds / 2))
    const ended = await withinLimit(options.kill(pod, kill), waitSeconds * 1000, options.clock)
    if (!ended) {
      const message = 'Container runtime did not kill the pod within specified grace period.'
      options.events.podEvent(pod, undefined, 'Warning', 'ExceededGracePeriod', message)
    }
    return ended
  }
}
