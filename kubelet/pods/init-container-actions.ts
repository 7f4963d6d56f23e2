import type { Container, Pod } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import { restartsAfter } from '../pod/restart-policy.ts'
import type { ProbeVerdicts } from '../prober/probe-verdicts.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { isRunning, newestRecord, type RuntimePod } from '../runtime/runtime-pod.ts'
import type { ContainerToKill } from './pod-needs.ts'

export interface InitContainerActions {
  /** App containers may run. */
  initialized: boolean
  start: Container[]
  kill: ContainerToKill[]
  /** A regular init container failed for good. */
  killPod: boolean
}

/**
 * Looks from the last init container back to the first: the newest one that exists tells how far the pod has come,
 * because the records of earlier ones may be gone. Once an app container runs, only sidecars still matter.
 */
export function initContainerActions(pod: Pod, runtime: RuntimePod, probes: ProbeVerdicts): InitContainerActions {
  const containers = pod.spec.initContainers ?? []
  const actions: InitContainerActions = { initialized: false, start: [], kill: [], killPod: false }
  if (containers.length === 0) return { ...actions, initialized: true }
  actions.initialized = pod.spec.containers.some(({ name }) => isRunning(newestRecord(runtime, name)))
  // True for all that come before the newest one that exists.
  let passed = actions.initialized

  for (const [index, container] of [...containers.entries()].reverse()) {
    const record = newestRecord(runtime, container.name)
    const next = containers[index + 1]
    const proceed = () => {
      if (passed) return
      if (next) actions.start.unshift(next)
      else actions.initialized = true
    }
    if (isSidecar(container)) {
      if (!record) {
        if (passed) actions.start.unshift(container)
        continue
      }
      sidecarActions(container, record, probes, actions, proceed)
    } else {
      if (!record || passed) continue
      if (record.state === 'exited') {
        if (record.exitCode === 0) proceed()
        else if (restartsAfter(pod.spec, container, record.exitCode ?? 255)) actions.start.unshift(container)
        else return { initialized: false, start: [], kill: [], killPod: true }
      }
    }
    passed = true
  }
  if (!passed && containers[0]) actions.start.unshift(containers[0])
  return actions
}

function sidecarActions(
  container: Container,
  record: ContainerRecord,
  probes: ProbeVerdicts,
  actions: InitContainerActions,
  proceed: () => void,
): void {
  const { name } = container
  if (record.state === 'exited') {
    actions.start.unshift(container)
    return
  }
  const kill = (what: string, cause: ContainerToKill['cause']) => {
    actions.kill.push({ record, container, message: `Init container ${name} ${what}`, cause })
    actions.start.unshift(container)
  }
  const startup = container.startupProbe ? probes.startup(record.id) : 'success'
  if (record.image !== container.image) kill('definition changed', 'ContainerChanged')
  else if (startup === 'failure') kill('failed startup probe', 'StartupProbe')
  else {
    if (startup === 'success') proceed()
    if (probes.livenessFailed(record.id)) kill('failed liveness probe', 'LivenessProbe')
  }
}
