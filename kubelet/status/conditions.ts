import { mayRestartAllContainers } from '../../shared/api/pods/restart-rules.ts'
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../shared/api/types.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import { type RuntimePod, readySandbox } from '../runtime/runtime-pod.ts'
import { restartAllSource } from './restart-all-source.ts'

/** A condition without its times: what is true now, and why. */
export interface Verdict {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason?: string
  message?: string
}
export interface ConditionInput {
  pod: Pod
  runtime: RuntimePod
  phase: string
  init: ContainerStatus[]
  app: ContainerStatus[]
  /** Holds conditions that other clients set, for the readiness gates. */
  conditions: PodCondition[]
  /** The conditions that the kubelet wrote before. */
  before: PodCondition[]
  featureGates: FeatureGates
}

export const KUBELET_CONDITIONS = new Set([
  'PodResizePending',
  'PodResizeInProgress',
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
])

/** The kubelet's conditions, in the order upstream writes them. */
export function kubeletConditions(input: ConditionInput): Verdict[] {
  const status = readySandbox(input.runtime) ? 'True' : 'False'
  return [
    ...(input.featureGates.PodReadyToStartContainersCondition
      ? [{ type: 'PodReadyToStartContainers', status } as const]
      : []),
    ...readinessConditions(input),
    { type: 'PodScheduled', status: 'True' },
    ...allContainersRestarting(input),
  ]
}

/** Returns the condition that only pods that can restart as a whole have. */
function allContainersRestarting({ pod, runtime, phase }: ConditionInput): Verdict[] {
  if (!mayRestartAllContainers(pod.spec)) return []
  const type = 'AllContainersRestarting'
  if (phase === 'Failed') return [{ type, status: 'False', reason: 'PodFailed' }]
  if (phase === 'Succeeded') return [{ type, status: 'False', reason: 'PodCompleted' }]
  if (!restartAllSource(pod, runtime)) return [{ type, status: 'False' }]
  const message = 'container exited with restart policy rule'
  return [{ type, status: 'True', reason: 'RestartAllContainersStarted', message }]
}

type InitializedInput = Omit<ConditionInput, 'runtime' | 'featureGates'>
type ReadinessInput = Omit<InitializedInput, 'before'>
export function readinessConditions(input: InitializedInput): Verdict[] {
  const containers = containersReady(input)
  return [initialized(input), ready(input, containers), containers]
}

/**
 * Says whether the conditions that other clients set for a pod's readiness gates ask for another `Ready` condition than
 * it has. Upstream: NeedToReconcilePodReadiness of pkg/kubelet/status/status_manager.go.
 */
export function readinessDiffers(pod: Pod): boolean {
  const { phase = 'Pending', conditions = [], initContainerStatuses, containerStatuses } = pod.status ?? {}
  const told = conditions.find(({ type }) => type === 'Ready')
  if (!told || !pod.spec.readinessGates?.length) return false
  const input = { pod, phase, init: initContainerStatuses ?? [], app: containerStatuses ?? [], conditions }
  const wanted = ready(input, containersReady(input))
  return told.status !== wanted.status || (told.message ?? '') !== (wanted.message ?? '')
}

/** A pod that was initialized once remains so, also when its init containers begin again or its sidecars have ended. */
function initialized({ pod, phase, init, app, before }: InitializedInput): Verdict {
  const type = 'Initialized'
  if (phase === 'Succeeded') return { type, status: 'True', reason: 'PodCompleted' }
  const everStarted = app.some(({ state, lastState }) => state?.running || state?.terminated || lastState?.terminated)
  const wasInitialized = before.some((condition) => condition.type === type && condition.status === 'True')
  if (everStarted || wasInitialized) return { type, status: 'True' }
  const unknown: string[] = []
  const incomplete: string[] = []
  for (const container of pod.spec.initContainers ?? []) {
    const status = init.find(({ name }) => name === container.name)
    if (!status) unknown.push(container.name)
    else if (isSidecar(container) ? !status.started : !status.ready) incomplete.push(container.name)
  }
  const message = listed('incomplete', incomplete, unknown)
  return message ? { type, status: 'False', reason: 'ContainersNotInitialized', message } : { type, status: 'True' }
}

function containersReady({ pod, phase, init, app }: ReadinessInput): Verdict {
  const type = 'ContainersReady'
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' }
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' }
  const unknown: string[] = []
  const unready: string[] = []
  const statuses = [...init, ...app]
  for (const { name } of [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers]) {
    const status = statuses.find((entry) => entry.name === name)
    if (!status) unknown.push(name)
    else if (!status.ready) unready.push(name)
  }
  const message = listed('unready', unready, unknown)
  return message ? { type, status: 'False', reason: 'ContainersNotReady', message } : { type, status: 'True' }
}

function ready(input: ReadinessInput, { status, reason, message }: Verdict): Verdict {
  if (status !== 'True') return { type: 'Ready', status, reason, message }
  const open: string[] = []
  for (const { conditionType } of input.pod.spec.readinessGates ?? []) {
    const gate = input.conditions.find(({ type }) => type === conditionType)
    if (!gate) open.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`)
    else if (gate.status !== 'True')
      open.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`)
  }
  if (open.length === 0) return { type: 'Ready', status: 'True' }
  return { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: open.join(', ') }
}

function listed(what: string, names: string[], unknown: string[]): string {
  const parts: string[] = []
  if (unknown.length) parts.push(`containers with unknown status: [${unknown.join(' ')}]`)
  if (names.length) parts.push(`containers with ${what} status: [${names.join(' ')}]`)
  return parts.join(', ')
}

/** Adds the times: a transition happens when `status` changes, not when reason or message do. */
export function withTimes(
  verdict: Verdict,
  before: PodStatus,
  generation: number | undefined,
  time: string,
): PodCondition {
  const old = before.conditions?.find(({ type }) => type === verdict.type)
  return {
    type: verdict.type,
    ...(generation !== undefined && verdict.type !== 'AllContainersRestarting' && { observedGeneration: generation }),
    status: verdict.status,
    lastProbeTime: null as unknown as undefined,
    lastTransitionTime: old?.status === verdict.status && old.lastTransitionTime ? old.lastTransitionTime : time,
    ...(verdict.reason && { reason: verdict.reason }),
    ...(verdict.message && { message: verdict.message }),
  }
}
