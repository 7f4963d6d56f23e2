/** READY, STATUS and RESTARTS of a pod, the way kubectl's users know them. */
import { hasEnded } from '../../../../shared/api/pods/pod-phase.ts'
import type { ContainerStatus, Pod } from '../../../../shared/api/types.ts'
import { parseTime } from '../../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, humanDuration, nameColumn, orNone, wide } from '../../../kind/cells.ts'
import type { Column, RowCondition } from '../../../kind/resource-definition.ts'

export const podColumns: Column[] = [
  nameColumn,
  column('Ready', 'Containers that are ready, of all.'),
  column('Status', 'What the pod is doing, in one word.'),
  column('Restarts', 'How often its containers were restarted.'),
  ageColumn,
  column('IP', 'Address of the pod.', wide),
  column('Node', 'Node the pod runs on.', wide),
  column('Nominated Node', 'Node that is made free for the pod.', wide),
  column('Readiness Gates', 'Readiness gates that are met, of all.', wide),
]

export function podCells(pod: Pod, nowMs: number): unknown[] {
  const { metadata, spec, status } = pod
  const { reason, ready, restarts } = summarize(pod, nowMs)
  // The pod of a bookmark has no containers.
  const total = (spec.containers ?? []).length + sidecars(pod).size
  const gates = spec.readinessGates ?? []
  const trueTypes = gates.length > 0 ? typesThatAreTrue(pod) : noTypes
  const met = gates.filter(({ conditionType }) => trueTypes.has(conditionType)).length
  return [
    metadata.name,
    `${ready}/${total}`,
    reason,
    restarts,
    age(metadata.creationTimestamp, nowMs),
    orNone(status?.podIPs?.[0]?.ip ?? status?.podIP),
    orNone(spec.nodeName),
    orNone(status?.nominatedNodeName),
    gates.length > 0 ? `${met}/${gates.length}` : '<none>',
  ]
}

/** Conditions of a Table row: a finished pod says so. */
export function podRowConditions(pod: Pod): RowCondition[] {
  const completed = { type: 'Completed', status: 'True' }
  if (pod.status?.phase === 'Succeeded') {
    return [{ ...completed, reason: 'Succeeded', message: 'The pod has completed successfully.' }]
  }
  if (pod.status?.phase === 'Failed') return [{ ...completed, reason: 'Failed', message: 'The pod failed.' }]
  return []
}

interface Summary {
  reason: string
  ready: number
  restarts: string
}

const conditionIs = ({ status }: Pod, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false

const noTypes: ReadonlySet<string> = new Set()
const typesThatAreTrue = ({ status }: Pod): ReadonlySet<string> =>
  new Set(status?.conditions?.filter((condition) => condition.status === 'True').map(({ type }) => type))

const sidecars = ({ spec }: Pod): Set<string> =>
  new Set((spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name))

/** Restarts and the newest end of the containers that count at this moment. */
class Restarts {
  #count = 0
  #lastMs = 0
  add({ restartCount, lastState }: ContainerStatus): void {
    this.#count += restartCount
    const finishedAt = lastState?.terminated?.finishedAt
    if (finishedAt) this.#lastMs = Math.max(this.#lastMs, parseTime(finishedAt))
  }
  text(nowMs: number): string {
    if (this.#count === 0 || this.#lastMs === 0) return `${this.#count}`
    return `${this.#count} (${humanDuration(nowMs - this.#lastMs)} ago)`
  }
}

function summarize(pod: Pod, nowMs: number): Summary {
  const { spec, status } = pod
  const restartableInit = sidecars(pod)
  let reason = status?.reason || status?.phase || ''
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.reason === 'SchedulingGated') reason = 'SchedulingGated'

  const initRestarts = new Restarts()
  const restarts = new Restarts()
  let ready = 0
  let initializing: string | undefined
  for (const [index, container] of (status?.initContainerStatuses ?? []).entries()) {
    initRestarts.add(container)
    const isSidecar = restartableInit.has(container.name)
    if (isSidecar) restarts.add(container)
    if (container.state?.terminated?.exitCode === 0) continue
    if (isSidecar && container.started) {
      if (container.ready) ready++
      continue
    }
    initializing = initReason(container, index, spec.initContainers?.length ?? 0)
    break
  }
  if (initializing !== undefined) reason = initializing

  if (initializing === undefined || conditionIs(pod, 'Initialized')) {
    const main = mainReason(status?.containerStatuses ?? [], reason, conditionIs(pod, 'Ready'))
    reason = main.reason
    ready += main.ready
    for (const container of status?.containerStatuses ?? []) restarts.add(container)
  }

  if (pod.metadata.deletionTimestamp) {
    if (status?.reason === 'NodeLost') reason = 'Unknown'
    else if (!hasEnded(pod)) reason = 'Terminating'
  }
  const counted = initializing === undefined || conditionIs(pod, 'Initialized') ? restarts : initRestarts
  return { reason, ready, restarts: counted.text(nowMs) }
}

function initReason({ state }: ContainerStatus, index: number, total: number): string {
  if (state?.terminated) return `Init:${ended(state.terminated)}`
  const waiting = state?.waiting?.reason
  if (waiting && waiting !== 'PodInitializing') return `Init:${waiting}`
  return `Init:${index}/${total}`
}

const ended = ({ reason, signal, exitCode }: { reason?: string; signal?: number; exitCode: number }): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`)

/** Looks from the last container to the first, so that the first one that is not well gives its name. */
function mainReason(
  containers: ContainerStatus[],
  fallback: string,
  podReady: boolean,
): { reason: string; ready: number } {
  let reason = fallback
  let running = false
  let ready = 0
  let failure: string | undefined
  for (const container of [...containers].reverse()) {
    const { waiting, terminated } = container.state ?? {}
    if (waiting?.reason) reason = waiting.reason
    else if (terminated) {
      reason = ended(terminated)
      if (terminated.exitCode !== 0) failure = reason
    } else if (container.ready && container.state?.running) {
      running = true
      ready++
    }
  }
  if (reason !== 'Completed') return { reason, ready }
  if (running && podReady) return { reason: 'Running', ready }
  return { reason: failure ?? (running ? 'NotReady' : 'Completed'), ready }
}
