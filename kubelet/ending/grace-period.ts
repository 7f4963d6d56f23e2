import type { Container, Pod } from '../../shared/api/types.ts'

/** Seconds a process gets between TERM and KILL at the least, whatever is left of its grace. */
export const MINIMUM_GRACE_SECONDS = 2
/** A pod that is made to end never has less: 0 would mean "nothing decided yet". */
const MINIMUM_POD_GRACE_SECONDS = 1

export interface GraceInput {
  /** The grace period from an earlier decision; 0 if there was none. */
  stored: number
  deletionGracePeriodSeconds?: number
  /** Asked for by an eviction or a shutdown. */
  override?: number
  terminationGracePeriodSeconds?: number
  leastSeconds?: number
}

/** Returns the grace period of a terminating pod in seconds. It never grows from one call to the next. */
export function effectiveGraceSeconds(input: GraceInput): number {
  let grace = input.stored
  let overridden = false
  for (const wanted of [input.deletionGracePeriodSeconds, input.override]) {
    if (wanted === undefined || (grace !== 0 && wanted >= grace)) continue
    grace = wanted
    overridden = true
  }
  if (!overridden && grace === 0) grace = input.terminationGracePeriodSeconds ?? 0
  return Math.max(input.leastSeconds ?? MINIMUM_POD_GRACE_SECONDS, grace)
}

/**
 * Says why the kubelet ends a whole pod on behalf of its node. The pod's hooks see each of these causes as an eviction.
 */
export type NodeCause = 'Evicted' | 'NodeShutdown' | 'Preempted'
/** Says why a container is killed, as the termination record shows it. Some causes change the grace period. */
export type KillCause =
  | 'LivenessProbe'
  | 'StartupProbe'
  | 'FailedPostStartHook'
  | 'RestartAllContainers'
  | 'ContainerChanged'
  | 'ContainerResized'
  | 'SandboxChanged'
  | NodeCause
  | 'Unknown'

/** The grace of one container before any override: a probe's own beats the pod's, a deletion beats both. */
export function containerGraceSeconds(pod: Pod, container: Container | undefined, cause: KillCause): number {
  if (pod.metadata.deletionGracePeriodSeconds !== undefined) return pod.metadata.deletionGracePeriodSeconds
  if (cause === 'RestartAllContainers') return 0
  const ofPod = pod.spec.terminationGracePeriodSeconds
  if (ofPod === undefined) return MINIMUM_GRACE_SECONDS
  const probe =
    cause === 'LivenessProbe'
      ? container?.livenessProbe
      : cause === 'StartupProbe'
        ? container?.startupProbe
        : undefined
  return probe?.terminationGracePeriodSeconds ?? ofPod
}
