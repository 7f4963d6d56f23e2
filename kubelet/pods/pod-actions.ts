import type { Container, Pod } from '../../shared/api/types.ts'
import type { KillCause } from '../ending/grace-period.ts'
import { ephemeralContainers } from '../pod/container-kinds.ts'
import { restartsAfterKill, shouldBeStarted } from '../pod/restart-policy.ts'
import type { ProbeVerdicts } from '../prober/probe-verdicts.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { newestRecord, type RuntimePod, readySandbox } from '../runtime/runtime-pod.ts'
import { restartAllSource } from '../status/restart-all-source.ts'
import { initContainerActions } from './init-container-actions.ts'
import type { PodActions } from './pod-needs.ts'

/** Makes the one decision of a sync: it takes spec, records and probe results, and returns the actions. Pure. */
export function computePodActions(pod: Pod, runtime: RuntimePod, probes: ProbeVerdicts): PodActions {
  if (!readySandbox(runtime)) return sandboxActions(pod, runtime)
  const actions: PodActions = {
    killPod: false,
    createSandbox: false,
    ephemeralContainersToStart: [],
    initContainersToStart: [],
    containersToStart: [],
    containersToKill: [],
  }
  actions.restartAll = restartAllSource(pod, runtime)
  if (actions.restartAll) return actions
  actions.ephemeralContainersToStart = ephemeralContainers(pod.spec).filter(({ name }) => !newestRecord(runtime, name))
  const init = initContainerActions(pod, runtime, probes)
  actions.initContainersToStart = init.start
  actions.containersToKill = init.kill
  actions.killPod = init.killPod
  if (init.killPod || !init.initialized) return actions

  let kept = 0
  for (const container of pod.spec.containers) {
    const record = newestRecord(runtime, container.name)
    if (record?.state !== 'running') {
      if (shouldBeStarted(pod, container, record)) actions.containersToStart.push(container)
      continue
    }
    const kill = whyKill(container, record, probes)
    if (!kill) {
      kept++
      continue
    }
    const restart = kill.always || restartsAfterKill(pod.spec, container)
    const message = restart ? `${kill.message}, will be restarted` : kill.message
    actions.containersToKill.push({ record, container, message, cause: kill.cause })
    if (restart) actions.containersToStart.push(container)
  }
  if (kept > 0 || actions.containersToStart.length > 0) return actions
  const causes = new Map(actions.containersToKill.map(({ record, cause }) => [record.name, cause]))
  return { ...actions, killPod: true, causes, initContainersToStart: [], containersToKill: [] }
}

/**
 * For a pod without a sandbox, or whose sandbox was lost. Upstream: computePodActions of
 * pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
function sandboxActions(pod: Pod, runtime: RuntimePod): PodActions {
  const actions: PodActions = {
    killPod: true,
    createSandbox: true,
    ephemeralContainersToStart: [],
    initContainersToStart: [],
    containersToStart: [],
    containersToKill: [],
  }
  const { restartPolicy, initContainers = [], containers } = pod.spec
  const existedBefore = runtime.containers.length > 0
  if (restartPolicy === 'Never' && runtime.sandboxes.length > 0 && existedBefore) {
    return { ...actions, createSandbox: false }
  }
  // Only OnFailure keeps a container that succeeded; a container's Never and its rules do not count here.
  const start = containers.filter((container) => {
    const record = newestRecord(runtime, container.name)
    const succeeded = record?.state === 'exited' && record.exitCode === 0
    return !succeeded || (container.restartPolicy ?? restartPolicy) !== 'OnFailure'
  })
  const initializedBefore = containers.some(({ name }) => newestRecord(runtime, name))
  if (start.length === 0 && initializedBefore) return { ...actions, createSandbox: false }
  if (initContainers[0]) return { ...actions, initContainersToStart: [initContainers[0]] }
  return { ...actions, containersToStart: start }
}

interface Kill {
  message: string
  cause: KillCause
  /** If true, the container restarts whatever its restart policy says. */
  always: boolean
}

function whyKill(container: Container, record: ContainerRecord, probes: ProbeVerdicts): Kill | undefined {
  const { name } = container
  if (record.image !== container.image) {
    return { message: `Container ${name} definition changed`, cause: 'ContainerChanged', always: true }
  }
  if (probes.mustResize?.(container)) {
    return { message: `Container ${name} resize requires restart`, cause: 'ContainerResized', always: true }
  }
  if (probes.livenessFailed(record.id)) {
    return { message: `Container ${name} failed liveness probe`, cause: 'LivenessProbe', always: false }
  }
  if (probes.startup(record.id) === 'failure') {
    return { message: `Container ${name} failed startup probe`, cause: 'StartupProbe', always: false }
  }
  return undefined
}
