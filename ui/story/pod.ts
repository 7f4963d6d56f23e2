import type { RecordedObject } from '../../shared/record/format.ts'
import { become } from './interval.ts'
import { limits, type MarkKind, type PodPhase, type PodStory, push } from './model.ts'
import { at, listAt, msOf, numberAt, plain, textAt } from './text.ts'

export function newPod(uid: string, name: string, namespace: string): PodStory {
  const empty = { labels: {}, node: '', ip: '', images: [], workload: '', reason: '', restarts: 0, endPhase: '' }
  return {
    uid,
    name: plain(name),
    namespace: plain(namespace),
    phases: [],
    marks: [],
    events: [],
    deaths: [],
    services: new Set(),
    ...empty,
  }
}

export function mark(pod: PodStory, kind: MarkKind, atMs: number, text: string): void {
  if (
    pod.marks.some(
      (known) =>
        known.kind === kind &&
        known.text === text &&
        (kind === 'eviction' || kind === 'cancelled' || Math.abs(known.atMs - atMs) < 1_000),
    )
  )
    return
  push(pod.marks, { kind, atMs, text }, limits.marks)
}

const conditionOf = (object: unknown, type: string): unknown =>
  listAt(object, 'status', 'conditions').find((condition) => at(condition, 'type') === type)

export function phaseOf(object: RecordedObject): PodPhase {
  const phase = at(object, 'status', 'phase')
  if (at(object, 'metadata', 'deletionTimestamp')) return 'Terminating'
  if (phase === 'Succeeded' || phase === 'Failed') return phase
  if (backOffOf(object)) return 'BackOff'
  if (phase !== 'Running') return 'Pending'
  return at(conditionOf(object, 'Ready'), 'status') === 'True' ? 'Ready' : 'Running'
}

const backOffs: ReadonlySet<string> = new Set([
  ...['CrashLoopBackOff', 'ImagePullBackOff', 'ErrImagePull', 'InvalidImageName', 'ErrImageNeverPull'],
  ...['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'],
])

/** Returns why a container of the pod is not started for now, or waits to be restarted; empty if none waits. */
export function backOffOf(object: RecordedObject | undefined): string {
  const policy = at(object, 'spec', 'restartPolicy') ?? 'Always'
  const whyOf = (status: unknown, isInit: boolean): string => {
    const waiting = textAt(status, 'state', 'waiting', 'reason')
    if (backOffs.has(waiting)) return waiting
    // A kubelet says CrashLoopBackOff late: until then the container is shown as it ended.
    const code = numberAt(status, 'state', 'terminated', 'exitCode')
    if (code === undefined || policy === 'Never') return ''
    if (code !== 0) return 'crashed'
    return policy === 'Always' && !isInit ? 'ended' : ''
  }
  const init = listAt(object, 'status', 'initContainerStatuses').map((status) => whyOf(status, true))
  const reasons = [...init, ...listAt(object, 'status', 'containerStatuses').map((status) => whyOf(status, false))]
  return reasons.find(Boolean) ?? ''
}

/**
 * Updates the pod from its object. With `isNews` the change happened at `atMs`; otherwise the state is older than the
 * record.
 */
export function seePod(pod: PodStory, object: RecordedObject, atMs: number, isNews: boolean): void {
  pod.object = object
  pod.labels = labelsOf(object)
  pod.node = textAt(object, 'spec', 'nodeName')
  pod.ip = textAt(object, 'status', 'podIP') || pod.ip
  pod.images = imagesOf(object)
  pod.owner = ownerOf(object)
  pod.reason = textAt(object, 'metadata', 'reason') || pod.reason
  const phase = phaseOf(object)
  if (phase !== 'Terminating' && pod.goneMs !== undefined) delete pod.goneMs
  if (!isNews && !pod.phases.length) seeEarlier(pod, object, phase, atMs)
  else become(pod.phases, phase, atMs)
  if (phase === 'Terminating') seeGrace(pod, object, atMs)
  seeContainers(pod, object, atMs)
  seeEviction(pod, object, phase, atMs)
}

const mostImages = 20

function imagesOf(object: RecordedObject): string[] {
  const containers = ['initContainers', 'containers'].flatMap((list) => listAt(object, 'spec', list))
  return [...new Set(containers.map((container) => textAt(container, 'image')))].filter(Boolean).slice(0, mostImages)
}

function seeEviction(pod: PodStory, object: RecordedObject, phase: PodPhase, atMs: number): void {
  const target = conditionOf(object, 'DisruptionTarget')
  const status = at(target, 'status')
  const text = `${textAt(target, 'reason')}: ${textAt(target, 'message')}`
  if (status === 'True') mark(pod, 'eviction', atMs, text)
  else if (status === 'False') cancelEviction(pod, atMs, text)
  if (at(object, 'status', 'reason') === 'Evicted') mark(pod, 'eviction', atMs, textAt(object, 'status', 'message'))
  if (phase !== 'Terminating' || !pod.evictor) return
  mark(pod, 'eviction', atMs, `evicted by ${pod.evictor}`)
  delete pod.evictor
}

/** Marks an eviction as cancelled: it was requested but did not take place. */
export function cancelEviction(pod: PodStory, atMs: number, text: string): void {
  if (pod.phases.at(-1)?.value === 'Terminating' || pod.goneMs !== undefined) return
  for (const each of pod.marks) if (each.kind === 'eviction') each.kind = 'cancelled'
  mark(pod, 'cancelled', atMs, text)
}

export function podGone(pod: PodStory, atMs: number): void {
  become(pod.phases, undefined, atMs)
  pod.goneMs = atMs
  const phase = at(pod.object, 'status', 'phase')
  if (!pod.endPhase && (phase === 'Succeeded' || phase === 'Failed')) pod.endPhase = phase
}

/** Adds what is known about the time before the record: when the pod was created, and since when it is ready. */
function seeEarlier(pod: PodStory, object: RecordedObject, phase: PodPhase, atMs: number): void {
  const bornMs = msOf(at(object, 'metadata', 'creationTimestamp')) ?? atMs
  const startMs = msOf(at(object, 'status', 'startTime'))
  const readyMs = msOf(at(conditionOf(object, 'Ready'), 'lastTransitionTime'))
  become(pod.phases, 'Pending', bornMs)
  if (phase === 'Pending') return
  if (startMs !== undefined) become(pod.phases, 'Running', Math.max(startMs, bornMs))
  become(pod.phases, phase, Math.min(Math.max(readyMs ?? atMs, bornMs), atMs))
}

function seeGrace(pod: PodStory, object: RecordedObject, atMs: number): void {
  const seconds = numberAt(object, 'metadata', 'deletionGracePeriodSeconds')
  if (seconds === undefined) return
  const startMs = pod.phases.findLast(({ value }) => value === 'Terminating')?.startMs ?? atMs
  pod.grace = { startMs, endMs: startMs + seconds * 1_000 }
}

function seeContainers(pod: PodStory, object: RecordedObject, atMs: number): void {
  const statuses = listAt(object, 'status', 'containerStatuses')
  const restarts = statuses.reduce<number>((sum, status) => sum + (numberAt(status, 'restartCount') ?? 0), 0)
  if (restarts > pod.restarts && pod.phases.length) {
    const last = statuses.find((status) => at(status, 'lastState', 'terminated'))
    const code = numberAt(last, 'lastState', 'terminated', 'exitCode')
    mark(
      pod,
      'restart',
      atMs,
      `restart ${restarts} of ${textAt(last, 'name')}${code === undefined ? '' : `: exit code ${code}`}`,
    )
  }
  pod.restarts = restarts
  const ended = statuses.map((status) => msOf(at(status, 'state', 'terminated', 'finishedAt')))
  const phase = at(object, 'status', 'phase')
  if (phase === 'Succeeded' || phase === 'Failed') pod.endPhase = phase
  if (!ended.length || ended.includes(undefined)) delete pod.processEndMs
  // A Termination knows it better: a status has whole seconds.
  else if (!pod.deaths.length) pod.processEndMs = Math.min(Math.max(...(ended as number[])) + 999, atMs)
}

/** A Termination has the time of the write, but lines of a record have the time of their delivery. */
export function endpointRemoved(pod: PodStory, atMs: number): void {
  pod.endpointRemovedMs = atMs
  const last = pod.marks.findLast(({ kind }) => kind === 'endpoint')
  if (last && last.atMs > atMs) last.atMs = atMs
}

export function labelsOf(object: RecordedObject): Record<string, string> {
  const labels = at(object, 'metadata', 'labels')
  if (typeof labels !== 'object' || labels === null) return {}
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]))
}

export function ownerOf(object: RecordedObject): PodStory['owner'] {
  const owners = listAt(object, 'metadata', 'ownerReferences')
  const owner = owners.find((each) => at(each, 'controller') === true)
  return owner ? { uid: textAt(owner, 'uid'), kind: textAt(owner, 'kind'), name: textAt(owner, 'name') } : undefined
}
