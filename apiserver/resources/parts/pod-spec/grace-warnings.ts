/** Grace periods that do not fit each other: upstream accepts them without a word. */
import { hookSleepSeconds } from '../../../../shared/api/hook-sleep.ts'
import type { Container, PodSpec } from '../../../../shared/api/types.ts'

const defaultGraceSeconds = 30

/**
 * What a termination or a failed probe of this container will do that its author may not expect; `path` is the
 * container's, `specPath` the pod spec's.
 */
export function graceWarnings(container: Container, spec: PodSpec, path: string, specPath: string): string[] {
  if (!container.lifecycle?.preStop && !container.livenessProbe && !container.startupProbe) return []
  const graceSeconds = spec.terminationGracePeriodSeconds ?? defaultGraceSeconds
  const grace = `${specPath}.terminationGracePeriodSeconds (${graceSeconds})`
  return [
    ...probeWarnings(container, graceSeconds, path, grace),
    ...hookWarnings(container, graceSeconds, `${path}.lifecycle.preStop`, grace),
  ]
}

function probeWarnings(container: Container, graceSeconds: number, path: string, grace: string): string[] {
  return (['livenessProbe', 'startupProbe'] as const).flatMap((name) => {
    const seconds = container[name]?.terminationGracePeriodSeconds
    if (seconds === undefined || seconds <= graceSeconds) return []
    const consequence = 'a failed probe leaves the container more time to end than a deletion of the pod'
    return [`${path}.${name}.terminationGracePeriodSeconds: ${seconds} is more than ${grace}; ${consequence}`]
  })
}

/** The hook's time is part of the grace period: whatever the hook leaves is for SIGTERM. */
function hookWarnings(container: Container, graceSeconds: number, path: string, grace: string): string[] {
  const seconds = hookSleepSeconds(container)
  if (!seconds || seconds < graceSeconds) return []
  const field = container.lifecycle?.preStop?.sleep ? `${path}.sleep.seconds` : `${path}.exec.command`
  return [`${field}: sleeps for ${seconds} seconds and uses up ${grace}; SIGKILL follows 2 seconds after SIGTERM`]
}
