/** Grace periods that do not fit each other: upstream accepts them without a word. */
import { hookSleepSeconds } from '../../../../shared/api/pods/hook-sleep.ts'
import type { Container, PodSpec } from '../../../../shared/api/types.ts'

const defaultGraceSeconds = 30
const probes = ['livenessProbe', 'startupProbe'] as const

/**
 * Warns if a termination or a failed probe of this container will have effects that its author may not expect. `path`
 * is the path of the container, `specPath` the path of the pod spec.
 */
export function graceWarnings(container: Container, spec: PodSpec, path: string, specPath: string): string[] {
  if (!container.lifecycle?.preStop && !container.livenessProbe && !container.startupProbe) return []
  const graceSeconds = spec.terminationGracePeriodSeconds ?? defaultGraceSeconds
  const grace = `${specPath}.terminationGracePeriodSeconds (${graceSeconds})`
  return [
    ...(endsPod(container, spec)
      ? unusedProbeWarnings(container, graceSeconds, path, grace)
      : probeWarnings(container, graceSeconds, path, grace)),
    ...hookWarnings(container, graceSeconds, `${path}.lifecycle.preStop`, grace),
  ]
}

function probeWarnings(container: Container, graceSeconds: number, path: string, grace: string): string[] {
  return probes.flatMap((name) => {
    const seconds = container[name]?.terminationGracePeriodSeconds
    if (seconds === undefined || seconds <= graceSeconds) return []
    const consequence = 'a failed probe leaves the container more time to end than a deletion of the pod'
    return [`${path}.${name}.terminationGracePeriodSeconds: ${seconds} is more than ${grace}; ${consequence}`]
  })
}

/** Returns whether a failed probe of this container ends the pod: upstream then stops the whole pod. */
const endsPod = (container: Container, { containers, restartPolicy }: PodSpec): boolean =>
  containers.length === 1 && containers[0] === container && (container.restartPolicy ?? restartPolicy) === 'Never'

function unusedProbeWarnings(container: Container, graceSeconds: number, path: string, grace: string): string[] {
  return probes.flatMap((name) => {
    const seconds = container[name]?.terminationGracePeriodSeconds
    if (seconds === undefined || seconds === graceSeconds) return []
    const why = 'the container is not restarted, so its failed probe ends the whole pod'
    return [`${path}.${name}.terminationGracePeriodSeconds: ${seconds} is not used; ${why}, with ${grace}`]
  })
}

/** The hook's time is part of the grace period: whatever the hook leaves is for SIGTERM. */
function hookWarnings(container: Container, graceSeconds: number, path: string, grace: string): string[] {
  const seconds = hookSleepSeconds(container)
  if (!seconds || seconds < graceSeconds) return []
  const field = container.lifecycle?.preStop?.sleep ? `${path}.sleep.seconds` : `${path}.exec.command`
  return [`${field}: sleeps for ${seconds} seconds and uses up ${grace}; SIGKILL follows 2 seconds after SIGTERM`]
}
