import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import { ephemeralContainers, isSidecar } from '../pod/container-kinds.ts'
import { shouldBeStarted } from '../pod/restart-policy.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { stopSignalOf } from '../runtime/recorded-container.ts'
import { type RuntimePod, recordsOf } from '../runtime/runtime-pod.ts'
import { findContainerStatus } from './find-container-status.ts'
import type { WaitingReason } from './reason-cache.ts'
import type { ResizeView } from './resize-view.ts'

export interface ContainerStatusInput {
  pod: Pod
  runtime: RuntimePod
  /** The last status that the kubelet wrote, or else the API's. */
  previous: PodStatus
  waiting(container: string): WaitingReason | undefined
  probes: ProbeResults
  resizes: Pick<ResizeView, 'actual' | 'allocated'>
  featureGates: FeatureGates
}
export interface ProbeResults {
  started(container: string, containerId: string): boolean
  ready(container: string, containerId: string): boolean
}

/** App containers by name, init containers in spec order: as upstream shows them. */
export function appContainerStatuses(input: ContainerStatusInput): ContainerStatus[] {
  const statuses = input.pod.spec.containers.map((container) => containerStatus(input, container, false))
  return statuses.sort((a, b) => (a.name < b.name ? -1 : 1))
}
export const ephemeralContainerStatuses = (input: ContainerStatusInput): ContainerStatus[] =>
  ephemeralContainers(input.pod.spec)
    .map((container) => containerStatus(input, container, false))
    .map(({ started: _started, ...status }) => ({ ...status, ready: false }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
export const initContainerStatuses = (input: ContainerStatusInput): ContainerStatus[] =>
  (input.pod.spec.initContainers ?? []).map((container) => containerStatus(input, container, true))

function containerStatus(input: ContainerStatusInput, container: Container, init: boolean): ContainerStatus {
  const { pod, runtime } = input
  const [current, last] = recordsOf(runtime, container.name)
  const stopSignal = input.featureGates.ContainerStopSignals && current ? stopSignalOf(current) : undefined
  const status = current ? fromRecord(current, container) : withoutRecord(input, container)
  if (last) status.lastState = stateOf(last)
  else if (current) status.lastState = lastToldState(input, container, current)
  const waiting = input.waiting(container.name)
  // An init container that ended well counts as done, also a sidecar that has to wait for its restart.
  const completed = init && current?.state === 'exited' && current.exitCode === 0
  if (waiting && !completed && shouldBeStarted(pod, container, current)) {
    if (status.state?.terminated) status.lastState = status.state
    status.state = { waiting: { reason: waiting.reason, ...(waiting.message && { message: waiting.message }) } }
  }
  const running = status.state?.running !== undefined && current !== undefined
  if (init && !isSidecar(container)) {
    status.started = running
    status.ready = status.state?.terminated?.exitCode === 0
  } else {
    status.started = running && input.probes.started(container.name, current.id)
    status.ready = status.started && running && input.probes.ready(container.name, current.id)
  }
  return inOrder({ ...status, stopSignal }, container, input.resizes)
}

/** Upstream's field order, and what the spec alone tells. */
function inOrder(
  status: ContainerStatus,
  container: Container,
  resizes: ContainerStatusInput['resizes'],
): ContainerStatus {
  const { name, state, lastState, ready, restartCount, image, imageID, containerID, started, stopSignal } = status
  const kept = resizes.allocated(name).requests
  const mounts = container.volumeMounts?.map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }),
  }))
  return {
    name,
    state,
    lastState,
    ready,
    restartCount,
    image,
    imageID,
    ...(containerID && { containerID }),
    started,
    ...(containerID && kept && { allocatedResources: kept }),
    ...(containerID && { resources: resizes.actual(name) }),
    ...(mounts?.length && { volumeMounts: mounts }),
    ...(stopSignal && { stopSignal }),
  }
}

function fromRecord(record: ContainerRecord, container: Container): ContainerStatus {
  return {
    name: container.name,
    state: stateOf(record),
    lastState: {},
    ready: false,
    restartCount: record.attempt,
    image: qualifiedImage(record.image),
    imageID: record.imageId,
    containerID: containerIdOf(record),
    started: false,
  }
}

const LOST = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was deleted.  The container used to be Running',
}

/** The reported state of the instance before, whose record is gone, is kept while this one lives. */
function lastToldState(input: ContainerStatusInput, container: Container, current: ContainerRecord): ContainerState {
  const told = findContainerStatus(input.previous, container.name)
  return told && current.attempt > 0 && told.restartCount === current.attempt ? (told.lastState ?? {}) : {}
}

/** The restart count of the next instance of a container that the runtime has no record of. */
export function nextRestartCount(told: PodStatus | undefined, name: string): number {
  const entry = findContainerStatus(told, name)
  if (!entry) return 0
  return entry.state?.terminated ? entry.restartCount + 1 : entry.restartCount
}

/** Nothing was ever started, or the runtime has forgotten it. */
function withoutRecord(input: ContainerStatusInput, container: Container): ContainerStatus {
  const { pod } = input
  const old = findContainerStatus(input.previous, container.name)
  if (old?.state?.terminated) return structuredClone(old)
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: pod.spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: structuredClone(old?.lastState ?? {}),
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    started: false,
  }
  if (!old?.state?.running) return status
  status.lastState = { terminated: { ...LOST } }
  if (!pod.metadata.deletionTimestamp) status.restartCount++
  return status
}

export function stateOf(record: ContainerRecord): ContainerState {
  const startedAt = toTime(record.startedAtMs)
  if (record.state === 'running') return { running: { startedAt } }
  const exitCode = record.exitCode ?? 255
  return {
    terminated: {
      exitCode,
      reason: record.reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
      ...(record.message && { message: record.message }),
      startedAt,
      finishedAt: toTime(record.finishedAtMs ?? record.startedAtMs),
      containerID: containerIdOf(record),
    },
  }
}

/** We answer as a node with containerd: clients take IDs apart at `://`. */
const containerIdOf = ({ id }: ContainerRecord): string => `containerd://${id}`

/** `busybox:1.37` → `docker.io/library/busybox:1.37`, as a runtime reports it. Host programs stay as they are. */
export function qualifiedImage(image: string): string {
  if (image.startsWith('/')) return image
  const [first = '', ...rest] = image.split('/')
  const named = rest.length > 0 && /[.:]|^localhost$/.test(first)
  const full = named ? image : rest.length > 0 ? `docker.io/${image}` : `docker.io/library/${image}`
  return /[:@][^/]*$/.test(full.slice(full.lastIndexOf('/'))) ? full : `${full}:latest`
}
