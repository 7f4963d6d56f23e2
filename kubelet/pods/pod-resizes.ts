import { isDeepStrictEqual } from 'node:util'
import type { Container, Pod, PodStatus } from '../../shared/api/types.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { ephemeralContainers } from '../pod/container-kinds.ts'
import type { Verdict } from '../status/conditions.ts'
import { findContainerStatus } from '../status/find-container-status.ts'
import type { ResizeView, Resources } from '../status/resize-view.ts'

/** Says why a node cannot give a running pod the resources that it requests now. */
export interface Shortage {
  reason: 'Deferred' | 'Infeasible'
  message: string
}
export interface PodResizesOptions {
  events: EventRecorder
  /** Keeps what the pod asks for now; where that cannot be, what it had before stays kept. */
  makeRoom(pod: Pod): Shortage | undefined
  /** Makes the running containers have it, by their names; answers why that cannot be. */
  apply(pod: Pod, resources: (container: string) => Resources): string | undefined
  /** The last status that this kubelet, or the one before it, wrote for the pod. */
  told(pod: Pod): PodStatus | undefined
}

/** Holds resources by container. While no resize is in progress, both maps are equal. */
interface Entry {
  allocated: ReadonlyMap<string, Resources>
  actual: ReadonlyMap<string, Resources>
  inProgress: boolean
  shortage?: Shortage
  /** Says why the containers could not be given what they ask for. */
  problem?: string
}

const NOTHING: Resources = {}

/**
 * Resizes of running pods: from what the spec asks for, by what the node keeps for it, to what the container has.
 * What is told, and which containers are restarted for it, is as upstream has it (pkg/kubelet/allocation).
 */
export class PodResizes {
  readonly #options: PodResizesOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: PodResizesOptions) {
    this.#options = options
  }

  /** Looks at what the spec asks for now. */
  plan(pod: Pod): void {
    const entry = this.#entryOf(pod)
    const asksForMore = resizable(pod).some(
      ({ name, resources = NOTHING }) => !isDeepStrictEqual(resources, entry.allocated.get(name) ?? NOTHING),
    )
    entry.shortage = asksForMore ? this.#options.makeRoom(pod) : undefined
    if (!asksForMore || entry.shortage) return
    const wanted = resizable(pod).map(({ name, resources = NOTHING }) => [name, resources] as const)
    entry.allocated = new Map([...entry.allocated, ...wanted])
    entry.inProgress = true
    this.#tell(pod, 'ResizeStarted', 'started')
  }

  /** A resource has changed that the container's resizePolicy wants it restarted for. */
  needsRestart(pod: Pod, { name, resizePolicy = [] }: Container): boolean {
    const { actual, allocated } = this.#entryOf(pod)
    const [before = NOTHING, after = NOTHING] = [actual.get(name), allocated.get(name)]
    return resizePolicy.some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' &&
        (['requests', 'limits'] as const).some((kind) => before[kind]?.[resourceName] !== after[kind]?.[resourceName]),
    )
  }

  /** A new instance has what is kept for it. */
  started(pod: Pod, container: string): void {
    const entry = this.#entryOf(pod)
    const given = entry.allocated.get(container) ?? NOTHING
    if (entry.actual.get(container) !== given) entry.actual = new Map([...entry.actual, [container, given]])
  }

  /** Gives the running containers what is kept for them; true when a resize has come to its end, or cannot. */
  complete(pod: Pod): boolean {
    const entry = this.#entryOf(pod)
    if (!entry.inProgress) return false
    const before = entry.problem
    entry.problem = this.#options.apply(pod, (name) => entry.allocated.get(name) ?? NOTHING)
    if (entry.problem !== undefined) return entry.problem !== before
    entry.actual = entry.allocated
    entry.inProgress = false
    this.#tell(pod, 'ResizeCompleted', 'completed')
    return true
  }

  view(pod: Pod): ResizeView {
    const { allocated, actual, inProgress, shortage, problem } = this.#entryOf(pod)
    const conditions: Verdict[] = []
    if (shortage) conditions.push({ type: 'PodResizePending', status: 'True', ...shortage })
    const error = problem !== undefined && { reason: 'Error', message: problem }
    if (inProgress) conditions.push({ type: 'PodResizeInProgress', status: 'True', ...error })
    return {
      conditions,
      allocated: (name) => allocated.get(name) ?? NOTHING,
      actual: (name) => actual.get(name) ?? NOTHING,
    }
  }

  forget(podUid: string): void {
    this.#entries.delete(podUid)
  }

  #entryOf(pod: Pod): Entry {
    const known = this.#entries.get(uidOf(pod))
    if (known) return known
    const told = this.#options.told(pod)
    const has = new Map(resizable(pod).map((container) => [container.name, hadBefore(told, container)]))
    const entry: Entry = { allocated: has, actual: has, inProgress: false }
    this.#entries.set(uidOf(pod), entry)
    return entry
  }

  #tell(pod: Pod, reason: string, what: string): void {
    const containers = pod.spec.containers.map(({ name, resources = {} }) => ({ name, resources: inOrder(resources) }))
    const details = JSON.stringify({ containers, generation: pod.metadata.generation })
    this.#options.events.podEvent(pod, undefined, 'Normal', reason, `Pod resize ${what}: ${details}`)
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
const resizable = ({ spec }: Pod): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...ephemeralContainers(spec),
]
const inOrder = ({ limits, requests }: Resources): Resources => ({
  ...(limits && { limits }),
  ...(requests && { requests }),
})

/**
 * Returns the resources that an earlier kubelet gave a container it started; a container that never ran gets what it
 * requests.
 */
function hadBefore(status: PodStatus | undefined, { name, resources = NOTHING }: Container): Resources {
  const entry = findContainerStatus(status, name)
  return (entry?.state?.running && (entry.resources as Resources | undefined)) || resources
}
