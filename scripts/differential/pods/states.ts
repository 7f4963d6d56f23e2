/** What is compared of a pod's object, by part, as texts. */
import type { ContainerState, ContainerStatus, Pod } from '../../../shared/api/types.ts'
import { plain } from './plain.ts'

/** These conditions follow from the containers, and their messages name those that are not ready at the moment. */
const derived = new Set(['Initialized', 'Ready', 'ContainersReady'])

export function partsOf({ status = {}, metadata }: Pod): [part: string, text: string][] {
  const containers = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  return [
    ['phase', `${status.phase}${inBrackets(status.reason, status.message)}`],
    ...containers.map((container): [string, string] => [`container ${container.name}`, containerText(container)]),
    ...(status.conditions ?? []).map((condition): [string, string] => {
      const message = derived.has(condition.type) ? undefined : condition.message
      return [`condition ${condition.type}`, `${condition.status}${inBrackets(condition.reason, message)}`]
    }),
    ...(deletionTimestamp ? [['deletion', `in ${deletionGracePeriodSeconds} s`] as [string, string]] : []),
  ]
}

function containerText({ state, lastState, ready, started, restartCount }: ContainerStatus): string {
  const last = lastState?.terminated ? ` after ${stateText(lastState)}` : ''
  return `${stateText(state)}${started ? ' started' : ''}${ready ? ' ready' : ''}${restartCount ? ` restarts ${restartCount}` : ''}${last}`
}

function stateText({ running, terminated, waiting }: ContainerState = {}): string {
  if (running) return 'running'
  if (!terminated) return `waiting${inBrackets(waiting?.reason, waiting?.message)}`
  const { reason, exitCode, signal, message } = terminated
  return `terminated${inBrackets(reason, String(exitCode), signal ? `signal ${signal}` : undefined, message)}`
}

function inBrackets(...texts: (string | undefined)[]): string {
  const given = texts.filter(Boolean)
  return given.length > 0 ? `(${plain(given.join(', ')).trim()})` : ''
}
