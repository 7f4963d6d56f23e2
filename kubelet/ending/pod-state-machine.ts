import { hasEnded, isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { StatusChange } from '../status/status-change.ts'
import { effectiveGraceSeconds, type NodeCause } from './grace-period.ts'

/**
 * A pod's way through the kubelet, one direction only: `sync` (kept as its spec wants it) → `terminating` (containers
 * are being stopped) → `terminated` (what is left is cleaned up) → `finished`.
 */
export type WorkPhase = 'sync' | 'terminating' | 'terminated' | 'finished'

export interface PodWork {
  phase: WorkPhase
  /** Seconds for a termination; 0 until one has begun, or where a pod without a grace period ended by itself. */
  graceSeconds: number
  /** Texts for the pod's status, such as an eviction's reason and message. */
  statusChanges: StatusChange[]
  /** The reason why the kubelet itself ended the pod, if it did. */
  cause?: NodeCause
}

export interface KillOptions {
  /** Limits the grace period, in seconds. */
  graceSeconds?: number
  status?: StatusChange
  cause?: NodeCause
}

export type WorkEvent =
  /** The pod is there, or has changed. `running`: the runtime has something of it. */
  | { type: 'config'; pod: Pod; running: boolean }
  /** The object vanished from the API. */
  | { type: 'removed'; pod: Pod }
  | { type: 'kill'; pod: Pod; options: KillOptions }
  /** A sync found that the pod has ended by itself. */
  | { type: 'ended'; pod: Pod }
  | { type: 'stopped' }
  | { type: 'cleaned' }

const START: PodWork = { phase: 'sync', graceSeconds: 0, statusChanges: [] }

export function nextWork(work: PodWork | undefined, event: WorkEvent): PodWork {
  if (work?.phase === 'finished') return work
  switch (event.type) {
    case 'stopped':
      return { ...(work ?? START), phase: 'terminated' }
    case 'cleaned':
      return { ...(work ?? START), phase: 'finished' }
    case 'config':
      if (!work && isTerminalPhase(event.pod.status?.phase) && !event.running) return { ...START, phase: 'terminated' }
      return mustEnd(work, event.pod) ? terminate(work ?? START, event.pod) : (work ?? START)
    case 'removed':
      return terminate(work ?? START, event.pod)
    case 'ended':
      return terminate(work ?? START, event.pod, { leastSeconds: 0 })
    case 'kill': {
      const { status, cause, graceSeconds } = event.options
      const { statusChanges, ...rest } = work ?? START
      const changed = { ...rest, statusChanges: status ? [...statusChanges, status] : statusChanges }
      return terminate(cause === undefined ? changed : { ...changed, cause }, event.pod, { override: graceSeconds })
    }
  }
}

const mustEnd = (work: PodWork | undefined, pod: Pod): boolean =>
  work?.phase === 'terminating' || pod.metadata.deletionTimestamp !== undefined || hasEnded(pod)

/** A pod that ended by itself has its own grace period, as upstream; all others have a second at least. */
function terminate(work: PodWork, pod: Pod, options: { override?: number; leastSeconds?: number } = {}): PodWork {
  if (work.phase !== 'sync' && work.phase !== 'terminating') return work
  const graceSeconds = effectiveGraceSeconds({
    stored: work.graceSeconds,
    deletionGracePeriodSeconds: pod.metadata.deletionGracePeriodSeconds,
    ...options,
    terminationGracePeriodSeconds: pod.spec.terminationGracePeriodSeconds,
  })
  return { ...work, phase: 'terminating', graceSeconds }
}
