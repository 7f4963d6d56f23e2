import { isMap } from '../../shared/api/json/json-map.ts'
import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../shared/api/types.ts'
import { allContainers, findContainer } from '../pod/container-kinds.ts'
import { mayRunAgain } from '../pod/restart-policy.ts'
import { KUBELET_CONDITIONS } from './conditions.ts'

/**
 * Returns the status to write over the API's status. It keeps the conditions of other writers as the API has them. It
 * withholds a terminal phase, and DisruptionTarget with it, while containers may still run, so that no unfinished pod
 * looks finished.
 */
export function mergeStatus(api: PodStatus, own: PodStatus, mayHaveRunningContainers: boolean): PodStatus {
  const withheld = mayHaveRunningContainers && isTerminalPhase(own.phase) && !isTerminalPhase(api.phase)
  const conditions = [...foreignConditions(api), ...ownConditions(api, own, withheld)]
  const qosClass = api.qosClass ?? own.qosClass
  const merged: PodStatus = {
    ...own,
    qosClass,
    conditions: conditions.map(falseWhenTerminal(withheld ? api.phase : own.phase)),
  }
  if (!withheld) return merged
  const { reason: _reason, message: _message, ...rest } = merged
  return {
    ...rest,
    phase: api.phase,
    ...(api.reason && { reason: api.reason }),
    ...(api.message && { message: api.message }),
  }
}

const isOwn = (type: string): boolean => KUBELET_CONDITIONS.has(type) || type === 'DisruptionTarget'
const foreignConditions = (api: PodStatus): PodCondition[] => (api.conditions ?? []).filter(({ type }) => !isOwn(type))

function ownConditions(api: PodStatus, own: PodStatus, withheld: boolean): PodCondition[] {
  const ofKubelet = isTerminalPhase(own.phase) && !withheld ? disruption(own) : []
  return [
    ...(ofKubelet.length > 0 ? ofKubelet : disruption(api)),
    ...(own.conditions ?? []).filter(({ type }) => KUBELET_CONDITIONS.has(type)),
  ]
}

const disruption = ({ conditions = [] }: PodStatus): PodCondition[] =>
  conditions.filter(({ type }) => type === 'DisruptionTarget')

const falseWhenTerminal =
  (phase: string | undefined) =>
  (condition: PodCondition): PodCondition => {
    const readiness = condition.type === 'Ready' || condition.type === 'ContainersReady'
    if (!readiness || !isTerminalPhase(phase) || condition.status === 'False') return condition
    return { ...condition, status: 'False', reason: phase === 'Failed' ? 'PodFailed' : 'PodCompleted' }
  }

/** Fields that the kubelet takes back by leaving them out; others it leaves alone. */
const REMOVABLE = ['message', 'reason', 'podIP', 'podIPs', 'initContainerStatuses'] as const

/** A merge patch of `status`, or undefined when there is nothing to write. */
export function statusPatch(api: PodStatus, wanted: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {}
  const before = api as Record<string, unknown>
  for (const [key, value] of Object.entries(wanted)) {
    if (value !== undefined && !sameValue(before[key], value)) patch[key] = value
  }
  for (const key of REMOVABLE) if (before[key] !== undefined && wanted[key] === undefined) patch[key] = null
  return Object.keys(patch).length > 0 ? patch : undefined
}

/** Nothing, null and an empty object are one to the API: a server may store either. */
function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b)
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((value, index) => sameValue(value, b[index]))
  }
  if (!isMap(a) || !isMap(b)) return false
  for (const key in a) if (!sameValue(a[key], b[key])) return false
  for (const key in b) if (!(key in a) && !isNothing(b[key])) return false
  return true
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (!isMap(value)) return false
  for (const key in value) if (!isNothing(value[key])) return false
  return true
}

/** A container that ended for good cannot come back: such a status is a mistake and must not be written. */
export function isLegalTransition(pod: Pod, before: PodStatus, after: PodStatus): boolean {
  return allStatuses(before).every(({ name, state }) => {
    const ended = state?.terminated
    const now = ended && allStatuses(after).find((entry) => entry.name === name)
    const container = now && findContainer(pod.spec, name)
    return !container || now.state?.terminated || mayRunAgain(pod.spec, container, ended.exitCode)
  })
}

const allStatuses = (status: PodStatus): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
]

const MESSAGE_BYTES_PER_POD = 12 * 1024

/** All termination messages of a pod together stay within 12 KiB: each container has its equal part. */
export function cutMessages(pod: Pod, status: PodStatus): PodStatus {
  const limit = Math.floor(MESSAGE_BYTES_PER_POD / allContainers(pod.spec).length)
  for (const entry of allStatuses(status)) {
    for (const state of [entry.state?.terminated, entry.lastState?.terminated]) {
      if (state?.message && Buffer.byteLength(state.message) > limit) {
        state.message = Buffer.from(state.message).subarray(0, limit).toString()
      }
    }
  }
  return status
}
