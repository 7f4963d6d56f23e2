import { mayRestartAllContainers, restartRuleFor } from '../../shared/api/pods/restart-rules.ts'
import type { Container, Pod, PodSpec } from '../../shared/api/types.ts'

/**
 * Returns true if a container that ended with `exitCode` runs again. Its first matching rule decides, else its own
 * policy, else the pod's.
 */
export function restartsAfter(spec: PodSpec, container: Container, exitCode: number): boolean {
  if (restartRuleFor(container, exitCode)) return true
  const policy = container.restartPolicy ?? spec.restartPolicy
  if (policy === 'Never') return false
  if (policy === 'OnFailure') return exitCode !== 0
  return true
}

/** Returns true if the next sync must start the container: it never ran, or it ended and runs again. */
export function shouldBeStarted(
  pod: Pod,
  container: Container,
  newest: { state: string; exitCode?: number } | undefined,
): boolean {
  if (pod.metadata.deletionTimestamp) return false
  if (!newest) return true
  if (newest.state === 'running') return false
  return restartsAfter(pod.spec, container, newest.exitCode ?? 255)
}

/**
 * Returns true if a container that ended with `exitCode` may run again. In a pod that may restart as a whole, no
 * container ends for good.
 */
export const mayRunAgain = (spec: PodSpec, container: Container, exitCode: number): boolean =>
  mayRestartAllContainers(spec) || restartsAfter(spec, container, exitCode)

/**
 * Returns true if a container restarts after a failed probe or a changed definition killed it. Exit codes do not matter
 * then.
 */
export const restartsAfterKill = (spec: PodSpec, container: Container): boolean =>
  (container.restartPolicy ?? spec.restartPolicy) !== 'Never'
