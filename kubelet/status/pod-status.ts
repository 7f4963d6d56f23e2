import { isTerminalPhase } from '../../shared/api/pods/pod-phase.ts'
import type { ContainerStatus, Pod, PodStatus } from '../../shared/api/types.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import { sidecars } from '../pod/container-kinds.ts'
import { isStatic } from '../pod/static-pod.ts'
import { sandboxHolds } from '../runtime/runtime-pod.ts'
import { KUBELET_CONDITIONS, kubeletConditions, withTimes } from './conditions.ts'
import {
  appContainerStatuses,
  type ContainerStatusInput,
  ephemeralContainerStatuses,
  initContainerStatuses,
} from './container-statuses.ts'
import { podPhase } from './phase.ts'
import { sumOf, sumOfResources } from './pod-resources.ts'
import type { ResizeView } from './resize-view.ts'

export interface PodStatusInput extends ContainerStatusInput {
  nowMs: number
  hostIP: string
  podIsTerminal: boolean
  resizes: ResizeView
}

const DEADLINE = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
}

/** A pod's status, from its spec, the runtime's records and what the probes found. Pure. */
export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, previous, runtime } = input
  const init = initContainerStatuses(input)
  const app = appContainerStatuses(input)
  const ephemeral = ephemeralContainerStatuses(input)
  const verdict = phaseAndReason(input, init, app)
  const conditions = conditionsOf(input, { init, app, phase: verdict.phase })
  const names = [...pod.spec.containers, ...sidecars(pod.spec)].map(({ name }) => name)
  const allocated = sumOf(names.map((name) => input.resizes.allocated(name).requests))
  const podIP = runtime.sandboxes[0]?.ip ?? previous.podIP
  const shown = podIP && hasContainer(init, app) ? podIP : previous.podIP
  return {
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase: verdict.phase,
    conditions,
    ...(verdict.message && { message: verdict.message }),
    ...(verdict.reason && { reason: verdict.reason }),
    hostIP: input.hostIP,
    hostIPs: [{ ip: input.hostIP }],
    ...(shown && { podIP: shown, podIPs: [{ ip: shown }] }),
    startTime: previous.startTime ?? pod.status?.startTime ?? toTime(input.nowMs),
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: app,
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
    qosClass: pod.status?.qosClass ?? 'BestEffort',
    ...(allocated && { allocatedResources: allocated }),
    resources: sumOfResources(names.map(input.resizes.actual)),
  }
}

/** The address is told with the first container, not before: between the two a sandbox can still fail. */
const hasContainer = (init: ContainerStatus[], app: ContainerStatus[]): boolean =>
  [...init, ...app].some(({ containerID }) => containerID)

interface PhaseVerdict {
  phase: string
  reason?: string
  message?: string
}

function phaseAndReason(input: PodStatusInput, init: ContainerStatus[], app: ContainerStatus[]): PhaseVerdict {
  const { pod, previous, runtime } = input
  const apiPhase = pod.status?.phase
  let phase: string = podPhase({
    spec: pod.spec,
    init,
    app,
    podIsTerminal: input.podIsTerminal,
    isStatic: isStatic(pod),
    appContainerExists: sandboxHolds(runtime, new Set(pod.spec.containers.map(({ name }) => name))),
  })
  if (!isTerminalPhase(phase)) phase = [previous.phase, apiPhase].find(isTerminalPhase) ?? phase
  let verdict: PhaseVerdict =
    phase === previous.phase ? { phase, reason: previous.reason, message: previous.message } : { phase }
  if (pastDeadline(input)) verdict = { phase: 'Failed', ...DEADLINE }
  if (isTerminalPhase(apiPhase) && apiPhase !== undefined) verdict.phase = apiPhase
  return verdict
}

/** `activeDeadlineSeconds` counts from startTime, which has no fractions of a second. */
export function deadlineMs(pod: Pod, previous: PodStatus): number | undefined {
  const { activeDeadlineSeconds } = pod.spec
  const startTime = previous.startTime ?? pod.status?.startTime
  if (activeDeadlineSeconds === undefined || !startTime) return undefined
  return parseTime(startTime) + activeDeadlineSeconds * 1000
}
export const pastDeadline = ({ pod, previous, nowMs }: Pick<PodStatusInput, 'pod' | 'previous' | 'nowMs'>): boolean =>
  nowMs >= (deadlineMs(pod, previous) ?? Number.POSITIVE_INFINITY)

function conditionsOf(
  input: PodStatusInput,
  computed: { init: ContainerStatus[]; app: ContainerStatus[]; phase: string },
): PodStatus['conditions'] {
  const { pod, previous, runtime, featureGates } = input
  const foreign = (pod.status?.conditions ?? []).filter(
    ({ type }) => !KUBELET_CONDITIONS.has(type) && type !== 'DisruptionTarget',
  )
  const before = previous.conditions ?? []
  const disruption = before.filter(({ type }) => type === 'DisruptionTarget')
  const verdicts = kubeletConditions({ pod, runtime, ...computed, conditions: foreign, before, featureGates })
  const time = toTime(input.nowMs)
  const resizes = input.resizes.conditions.map((verdict) => ({
    ...withTimes(verdict, previous, pod.metadata.generation, time),
    lastProbeTime: time,
  }))
  return [
    ...foreign,
    ...resizes,
    ...disruption,
    ...verdicts.map((verdict) => withTimes(verdict, previous, pod.metadata.generation, time)),
  ]
}
