import type { ContainerState, ContainerStatus, Event, Pod } from '../../shared/api/types.ts'

/** Bounds the events that are shown: a crash loop repeats its events. */
const maxEvents = 8

export interface LogEnd {
  container: string
  lines: readonly string[]
}

/**
 * Describes the last known state of a pod, one fact a line: container states, conditions, events and the ends of the
 * logs.
 */
export function lastSeen(pod: Pod | undefined, events: readonly Event[], logs: readonly LogEnd[]): string[] {
  if (!pod) return ['there is no such pod']
  const { phase, containerStatuses = [], conditions = [] } = pod.status ?? {}
  return [
    `phase ${phase}`,
    ...containerStatuses.map(
      (status) => `container ${status.name}: ${describe(status)}, ${status.restartCount} restarts`,
    ),
    ...conditions
      .filter(({ status, message }) => status !== 'True' && message)
      .map(({ type, status, message }) => `condition ${type} is ${status}: ${message}`),
    ...events
      .slice(-maxEvents)
      .map(({ type, reason, count = 1, message }) => `event ${type} ${reason} (${count} times): ${message}`),
    ...logs.flatMap(({ container, lines }) => lines.map((line) => `log of ${container}: ${line}`)),
  ]
}

function describe({ ready, state, lastState }: ContainerStatus): string {
  const before = lastState?.terminated ? `, before that ${inWords(lastState)}` : ''
  return `${inWords(state)}, ${ready ? 'ready' : 'not ready'}${before}`
}

function inWords({ running, waiting, terminated }: ContainerState = {}): string {
  if (running) return 'running'
  if (terminated) return `ended with exit code ${terminated.exitCode} (${terminated.reason})`
  return `waiting (${[waiting?.reason, waiting?.message].filter(Boolean).join(': ')})`
}
