import {
  type RecordedChange,
  type RecordedLoad,
  type RecordedObject,
  type RecordedRequest,
  type RecordLine,
  recordFormat,
  recordVersion,
} from '../../shared/record/format.ts'
import { deathOf } from './death.ts'
import { Endpoints } from './endpoints.ts'
import { JournalRows } from './journal.ts'
import {
  type JournalRow,
  type Load,
  limits,
  type Mark,
  type MarkKind,
  type NodeStory,
  type PodStory,
  push,
  type WorkloadStory,
} from './model.ts'
import { newNode, nodeGone, seeNode } from './node.ts'
import { cancelEviction, endpointRemoved, mark, newPod, podGone, seePod } from './pod.ts'
import { at, msOf, numberAt, plain, textAt } from './text.ts'
import { newWorkload, seeWorkload, workloadGone, workloadKinds } from './workload.ts'

/**
 * Builds the history of a cluster from the lines of a record, in their order. Its size is bounded: the oldest ended
 * objects are dropped.
 */
export class Story {
  title = ''
  writer = ''
  /** Says why parts of the record cannot be read; empty if all can. */
  problem = ''
  /** Holds the time of the first line; `endMs` that of the last. */
  startMs = 0
  endMs = 0
  /** Number of lines so far: a change means that the story changed. */
  lines = 0
  readonly pods = new Map<string, PodStory>()
  readonly nodes = new Map<string, NodeStory>()
  readonly workloads = new Map<string, WorkloadStory>()
  readonly loads: Load[] = []
  /** Marks of people, and gaps in the record. */
  readonly moments: Mark[] = []
  readonly #journal = new JournalRows()
  readonly #endpoints = new Endpoints()
  readonly #podUids = new Map<string, string>()
  #isNews = false
  /** UIDs that were seen after a gap. Objects that are not seen again are gone. */
  #seen: Set<string> | undefined

  get journal(): ReadonlyMap<string, JournalRow> {
    return this.#journal.rows
  }

  add(line: RecordLine): void {
    const atMs = msOf(line.at)
    if (atMs === undefined) return
    this.lines++
    if (!this.startMs) this.startMs = atMs
    this.endMs = Math.max(this.endMs, atMs)
    switch (line.type) {
      case 'HEADER':
        this.#header(line.title, line.writer, line.format === recordFormat ? line.version : 0)
        break
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        this.#change(line, atMs)
        break
      case 'SYNCED':
        this.#synced(atMs)
        break
      case 'REQUEST':
        this.#request(line, atMs)
        break
      case 'LOAD':
        this.#load(line, atMs)
        break
      case 'MARK':
        this.#moment(atMs, line.level === 'failure' ? 'failure' : 'note', line.text)
        break
      case 'GAP':
        this.#seen = new Set()
        this.#isNews = false
        this.#moment(atMs, 'gap', line.message)
    }
  }

  podNamed(namespace: string, name: string): PodStory | undefined {
    return this.pods.get(this.#podUids.get(`${namespace}/${name}`) ?? '')
  }

  #header(title: string, writer: string, version: number): void {
    if (version !== recordVersion)
      this.problem =
        `The record has version ${version || 'unknown'}; this page reads version ${recordVersion}. ` +
        `Open it with the Kubestage that wrote it (${plain(writer, 60)}).`
    if (this.writer) {
      // Another header: the stream began again.
      this.#seen ??= new Set()
      this.#isNews = false
    }
    this.title = plain(title)
    this.writer = plain(writer) || '?'
  }

  #load({ target, namespace, uid, seconds, answered, lost, cut, slowestMs }: RecordedLoad, atMs: number): void {
    const endMs = atMs + Math.max(seconds, 0.001) * 1_000
    this.endMs = Math.max(this.endMs, endMs)
    const names = { target: plain(target), namespace: plain(namespace), ...(typeof uid === 'string' && { uid }) }
    push(this.loads, { startMs: atMs, endMs, ...names, answered, lost, cut, slowestMs }, limits.loads)
  }

  #moment(atMs: number, kind: MarkKind, text: string): void {
    push(this.moments, { atMs, kind, text: plain(text) }, limits.moments)
  }

  #change({ type, object }: RecordedChange, atMs: number): void {
    const uid = at(object, 'metadata', 'uid')
    if (typeof uid !== 'string') return
    this.#seen?.add(uid)
    const isGone = type === 'DELETED'
    if (object.kind === 'Pod') this.#pod(object, atMs, isGone)
    else if (object.kind === 'Node') this.#node(object, atMs, isGone)
    else if (object.kind === 'EndpointSlice') this.#slice(object, atMs, isGone)
    else if (workloadKinds.has(object.kind)) this.#workload(object, atMs, isGone)
    else if (isGone) return
    else if (object.kind === 'Event') this.#event(object, atMs)
    else if (object.kind === 'Termination') this.#termination(object)
  }

  #pod(object: RecordedObject, atMs: number, isGone: boolean): void {
    const { uid } = object.metadata
    const pod = this.#podOf(uid, object.metadata.name, object.metadata.namespace ?? '')
    if (isGone) {
      pod.object = object
      podGone(pod, atMs)
    } else seePod(pod, object, atMs, this.#isNews)
  }

  #podOf(uid: string, name: string, namespace: string): PodStory {
    const known = this.pods.get(uid)
    if (known) return known
    if (this.pods.size >= limits.pods) forgetOldest(this.pods)
    const pod = newPod(uid, name, namespace)
    this.pods.set(uid, pod)
    this.#podUids.set(`${namespace}/${name}`, uid)
    if (this.#podUids.size > 2 * limits.pods) this.#podUids.delete(this.#podUids.keys().next().value!)
    return pod
  }

  #node(object: RecordedObject, atMs: number, isGone: boolean): void {
    const name = textAt(object, 'metadata', 'name')
    if (!this.nodes.has(name) && this.nodes.size >= limits.nodes) forgetOldest(this.nodes)
    const node = this.nodes.get(name) ?? newNode(object.metadata.uid, name)
    this.nodes.set(name, node)
    if (isGone) nodeGone(node, atMs)
    else seeNode(node, object, atMs, this.#isNews)
  }

  #workload(object: RecordedObject, atMs: number, isGone: boolean): void {
    const { uid } = object.metadata
    if (!this.workloads.has(uid) && this.workloads.size >= limits.workloads) forgetOldest(this.workloads)
    const workload = this.workloads.get(uid) ?? newWorkload(object)
    this.workloads.set(uid, workload)
    if (isGone) workloadGone(workload, atMs)
    else seeWorkload(workload, object, atMs)
  }

  #event(object: RecordedObject, lineMs: number): void {
    const reason = textAt(object, 'reason')
    const time = [object.lastTimestamp, object.eventTime].map(msOf).find((ms) => ms !== undefined)
    const atMs = this.#isNews ? lineMs : Math.min(time ?? lineMs, lineMs)
    const text = `${reason}: ${textAt(object, 'message')}`
    const kind = markKindOf(reason, textAt(object, 'type'), textAt(object, 'message'))
    const about = textAt(object, 'involvedObject', 'name')
    const pod = this.pods.get(textAt(object, 'involvedObject', 'uid'))
    if (pod) push(pod.events, { atMs, text }, limits.events)
    if (!kind) return
    if (pod && kind === 'cancelled') cancelEviction(pod, atMs, text)
    else if (pod) mark(pod, kind, atMs, text)
    else if (at(object, 'involvedObject', 'kind') === 'Node')
      push(this.nodes.get(about)?.marks ?? [], { atMs, kind, text }, limits.marks)
  }

  #termination(object: RecordedObject): void {
    const death = deathOf(object)
    const pod = this.#podOf(
      textAt(object, 'podUID'),
      textAt(object, 'podName'),
      textAt(object, 'metadata', 'namespace'),
    )
    pod.node ||= textAt(object, 'nodeName')
    pod.workload ||= textAt(object, 'workload')
    const known = pod.deaths.findIndex(({ name }) => name === death.name)
    if (known >= 0) pod.deaths[known] = death
    else push(pod.deaths, death, limits.deaths)
    pod.reason = death.reason || pod.reason
    if (death.endpointRemovedMs !== undefined) endpointRemoved(pod, death.endpointRemovedMs)
    if (numberAt(object, 'gracePeriodSeconds') === undefined || !death.phase) return
    pod.endPhase ||= death.phase
    const ends = death.containers.flatMap(({ segments }) => segments.map(({ endMs }) => endMs))
    pod.processEndMs = ends.length ? Math.max(...ends) : death.endMs
    if (pod.phases.length) return
    // Its object was never seen: the record says that it ended, and nothing of its life.
    pod.phases.push({ value: 'Terminating', startMs: death.startMs, endMs: death.endMs })
    pod.goneMs = death.endMs
  }

  #slice(object: RecordedObject, atMs: number, isGone: boolean): void {
    const { service, offered, left } = this.#endpoints.see(object, isGone)
    for (const uid of offered) {
      const services = this.pods.get(uid)?.services
      if (services && services.size < limits.deaths) services.add(service)
    }
    for (const uid of left) {
      const pod = this.pods.get(uid)
      if (!pod) continue
      mark(pod, 'endpoint', atMs, `Service ${service} no longer offers it: new connections should not come`)
      endpointRemoved(pod, pod.deaths.at(-1)?.endpointRemovedMs ?? atMs)
    }
  }

  #request(request: RecordedRequest, atMs: number): void {
    this.#journal.add(request, atMs)
    const { verb, resource, subresource, name, namespace, code } = request
    if (resource !== 'pods' || !name || code >= 400 || code === 0) return
    if (verb !== 'create' || subresource !== 'eviction') return
    const pod = this.podNamed(namespace ?? '', name)
    if (!pod) return
    const user = plain(request.user)
    // A dry run is answered so, too: it is an eviction when the pod ends.
    if (pod.phases.at(-1)?.value === 'Terminating' || pod.goneMs !== undefined)
      mark(pod, 'eviction', atMs, `evicted by ${user}`)
    else pod.evictor = user
  }

  #synced(atMs: number): void {
    this.#isNews = true
    const seen = this.#seen
    this.#seen = undefined
    if (!seen) return
    for (const pod of this.pods.values()) if (pod.goneMs === undefined && !seen.has(pod.uid)) podGone(pod, atMs)
    for (const node of this.nodes.values()) if (node.goneMs === undefined && !seen.has(node.uid)) nodeGone(node, atMs)
    for (const workload of this.workloads.values())
      if (workload.goneMs === undefined && !seen.has(workload.uid)) workloadGone(workload, atMs)
  }
}

const probes: ReadonlySet<string> = new Set(['Unhealthy', 'ProbeWarning', 'ProbeError'])
const evictions: ReadonlySet<string> = new Set(['Evicted', 'Preempted', 'Preempting', 'TaintManagerEviction'])

function markKindOf(reason: string, type: string, message: string): MarkKind | undefined {
  if (probes.has(reason)) return 'probe'
  // The same reason for both.
  if (reason === 'TaintManagerEviction' && message.startsWith('Cancelling')) return 'cancelled'
  if (evictions.has(reason)) return 'eviction'
  return type === 'Warning' ? 'warning' : undefined
}

/** Returns the first object that has ended, or else the first. */
function forgetOldest(all: Map<string, { goneMs?: number }>): void {
  const over = all.entries().find(([, { goneMs }]) => goneMs !== undefined)
  all.delete(over?.[0] ?? all.keys().next().value!)
}
