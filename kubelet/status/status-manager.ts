import { isDeepStrictEqual } from 'node:util'
import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { KubeObject, Pod, PodStatus } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { endOfTurn } from '../../shared/clock/settle.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { Turns } from '../../shared/concurrency/turns.ts'
import { isMirror, isStatic } from '../pod/static-pod.ts'
import { statusAtEnd } from './end-of-life.ts'
import { cutMessages, isLegalTransition, mergeStatus, statusPatch } from './status-merge.ts'

export interface StatusManagerOptions {
  client: Client
  clock: Clock
  /** The newest object of the pod known here: of a static pod its mirror pod. */
  latest(pod: Pod): Pod | undefined
  /** While this is true, no terminal phase is reported. */
  mayHaveRunningContainers(podUid: string): boolean
  /** The pod's worker has ended: nothing of it is left on the node. */
  isFinished(podUid: string): boolean
  onError(error: unknown, pod: Pod): void
  /**
   * Writes only the last status of one turn of the event loop, and for a finished pod only that it is gone. Off by
   * default.
   */
  brief?: boolean
}

interface Entry {
  pod: Pod
  status: PodStatus
  /** Statuses that are not written yet, oldest first. */
  queue: Saying[]
  busy: boolean
  writing?: Promise<void>
  /** The API's answer to the last write; for a moment it is newer than the watch. */
  written?: Pod
  /** When that write was answered, on the machine's own clock. */
  writtenMs?: number
  /** The reason why the kubelet ends the pod, until it is written to the object. */
  reason?: string
  /** Our last word: what keeps the object now are others' finalizers. */
  deleted?: boolean
}

/** A status, and whether containers might still have run when it was said. */
interface Saying {
  status: PodStatus
  mayRun: boolean
}

const RETRY_MS = 1_000
/**
 * Between the last status and the end of the object, for clients that read a log when they see a container's state. A
 * real kubelet's own pace gives them 0.75 s (median of the recordings); on one machine a watcher needs a few
 * milliseconds.
 */
const LAST_LOOK_MS = 100
/** If more writes wait, the API server is away: then only the newest counts. */
const MAX_QUEUE = 8
/** Pods that are written at the same time. */
const WRITERS = 8
/** If at least this many pods wait, only the newest status of each is written. */
const CROWD = 32

/**
 * Brings each pod's status to the API, in order, one write at a time a pod; and at the end deletes the object. Of many
 * pods at once a few are written at the same time, and one that had to wait behind a crowd is told of by its newest
 * status alone: upstream's status manager, which has one writer, skips in the same way what was overtaken before it
 * could be said.
 */
export class StatusManager {
  readonly #options: StatusManagerOptions
  readonly #entries = new Map<string, Entry>()
  readonly #turns = new Turns(WRITERS)

  constructor(options: StatusManagerOptions) {
    this.#options = options
  }

  /** Returns the last status that the kubelet set for a pod. */
  get(podUid: string): PodStatus | undefined {
    return this.#entries.get(podUid)?.status
  }

  /** Nothing is written for a status that equals the last one. */
  set(pod: Pod, status: PodStatus): void {
    this.#set(pod, status, false)
  }

  /**
   * The pod is over, its containers and volumes are gone: its last status, and then the final DELETE if it is being
   * deleted. `before` is the status that the object had when the containers began to stop.
   */
  terminate(pod: Pod, before: PodStatus | undefined): void {
    const status = this.get(uidOf(pod)) ?? pod.status ?? {}
    this.#set(pod, { startTime: toTime(this.#options.clock.now()), ...statusAtEnd(pod, { status, before }) }, true)
  }

  /** The kubelet ends the pod for this reason: the object says so from now on, unless it names another. */
  tellReason(pod: Pod, reason: string): void {
    const entry = this.#entries.get(uidOf(pod))
    if (!entry || pod.metadata.reason !== undefined) return
    entry.reason = reason
    this.#push(entry, entry.status)
  }

  /** Someone else wrote the object: write again what differs from what we said. */
  reconcile(pod: Pod): void {
    const { latest, isFinished } = this.#options
    const entry = this.#entries.get(uidOf(pod))
    if (!entry) return
    entry.pod = pod
    const object = isStatic(pod) ? latest(pod) : pod
    if (entry.queue.length > 0 || !object) return
    const api = newest(object, entry.written)?.status ?? {}
    if (api === object?.status) entry.written = undefined
    const wanted = mergeStatus(api, entry.status, this.#mayRun(pod))
    const over = !entry.deleted && pod.metadata.deletionTimestamp && isFinished(uidOf(pod))
    if (over || statusPatch(api, wanted)) this.#push(entry, entry.status)
  }

  forget(podUid: string): void {
    this.#entries.delete(podUid)
  }

  /** Resolves when all that was said so far is written, or was given up. */
  async flush(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ writing }) => writing))
  }

  /** The end of a static pod is reported at once, before its mirror pod is deleted. */
  #mayRun(pod: Pod): boolean {
    return !isStatic(pod) && this.#options.mayHaveRunningContainers(uidOf(pod))
  }

  #push(entry: Entry, status: PodStatus): void {
    entry.queue.push({ status, mayRun: this.#mayRun(entry.pod) })
    if (entry.queue.length > MAX_QUEUE) entry.queue.splice(0, entry.queue.length - 1)
    if (!entry.busy) entry.writing = this.#drain(entry)
  }

  async #drain(entry: Entry): Promise<void> {
    const { clock, brief = false, onError } = this.#options
    entry.busy = true
    while (entry.queue.length > 0 && this.#entries.get(uidOf(entry.pod)) === entry) {
      const isCrowded = brief || this.#turns.waiting >= CROWD
      if (brief) await endOfTurn()
      const wait = this.#turns.take()
      if (wait) await wait
      if (isCrowded) entry.queue = entry.queue.slice(-1)
      const [saying] = entry.queue as [Saying]
      try {
        const pod = await this.#write(entry, saying)
        if (pod) await this.#deleteWhenOver(entry, pod, () => entry.queue.at(-1) === saying)
        entry.queue = entry.queue.filter((other) => other !== saying)
      } catch (error) {
        if (isGone(error)) entry.queue = []
        else {
          onError(error, entry.pod)
          entry.queue = entry.queue.slice(-1)
          await clock.machine.sleep(RETRY_MS)
        }
      }
    }
    entry.busy = false
  }

  /** Ends the turn. Resolves with the object as it is then, unless it is gone. */
  async #write(entry: Entry, { status, mayRun }: Saying): Promise<Pod | undefined> {
    const { client, clock, latest, brief } = this.#options
    let pod = newest(latest(entry.pod), entry.written)
    try {
      if (brief && this.#mayGo(entry.pod)) return void (await this.#remove(entry, entry.pod))
      for (let attempt = 0; pod && shows(pod, entry.pod); attempt++) {
        const api = pod.status ?? {}
        const patch = statusPatch(api, mergeStatus(api, status, mayRun))
        const reason = pod.metadata.reason === undefined ? entry.reason : undefined
        if (!patch && reason === undefined) return pod
        try {
          pod = await sendPatch(client, pod, { reason, status: patch })
          entry.reason = undefined
          entry.written = newest(latest(entry.pod), pod) === pod ? pod : undefined
          entry.writtenMs = clock.machine.monotonic()
          return pod
        } catch (error) {
          if (attempt > 5 || !(error instanceof StatusError) || error.code !== 409) throw error
          pod = await client.get<Pod>(pods, refOf(pod))
        }
      }
      return undefined
    } finally {
      this.#turns.give()
    }
  }

  /** Deletes the object of a pod that is over, a moment after its last status was written. */
  async #deleteWhenOver(entry: Entry, pod: Pod, isLast: () => boolean): Promise<void> {
    const over = pod.metadata.deletionTimestamp && hasEnded(pod)
    if (!over || entry.deleted || !this.#options.isFinished(uidOf(pod)) || isMirror(pod) || !isLast()) return
    const { machine } = this.#options.clock
    await machine.sleep((entry.writtenMs ?? machine.monotonic()) + LAST_LOOK_MS - machine.monotonic())
    if (isLast()) await this.#remove(entry, pod)
  }

  async #remove(entry: Entry, pod: Pod): Promise<void> {
    await this.#options.client.delete(pods, refOf(pod), { gracePeriodSeconds: 0, preconditions: { uid: uidOf(pod) } })
    entry.queue = []
    entry.deleted = true
  }

  /** Returns true if the pod is being deleted, nothing of it is left here, and no finalizer keeps the object. */
  #mayGo(pod: Pod): boolean {
    const { deletionTimestamp, finalizers } = pod.metadata
    return Boolean(deletionTimestamp) && !finalizers?.length && this.#options.isFinished(uidOf(pod))
  }

  #set(pod: Pod, status: PodStatus, always: boolean): void {
    const uid = uidOf(pod)
    const known = this.#entries.get(uid)
    const before = known?.status ?? pod.status ?? {}
    if (!isLegalTransition(pod, before, status)) {
      this.#options.onError(new Error('dropped a status in which a container that ended for good runs again'), pod)
      return
    }
    cutMessages(pod, status)
    if (known && !always && isDeepStrictEqual(known.status, status)) return
    const entry = known ?? { pod, status, queue: [], busy: false }
    entry.pod = pod
    entry.status = status
    this.#entries.set(uid, entry)
    this.#push(entry, status)
  }
}

/** Sends the resourceVersion, since a merge patch replaces the whole list of conditions, of which some are not ours. */
const sendPatch = (
  client: Client,
  pod: Pod,
  { reason, status }: { reason: string | undefined; status: Record<string, unknown> | undefined },
): Promise<Pod> => {
  const told = reason !== undefined && { reason }
  const metadata = { uid: uidOf(pod), resourceVersion: pod.metadata.resourceVersion, ...told }
  // What the server makes of it else comes by the watch.
  const kept = Object.entries({ ...pod.status, ...status }).filter(([, value]) => value !== null)
  const foreseen = { ...pod, metadata: { ...pod.metadata, ...told }, status: Object.fromEntries(kept) }
  return client.patch<Pod>(
    pods,
    refOf(pod),
    { metadata, ...(status && { status }) },
    { type: 'merge', subresource: 'status', readOnly: true, foreseen: foreseen as KubeObject },
  )
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ''
/** Returns true if an object of the API is this pod, or its mirror pod. */
const shows = (object: Pod, pod: Pod): boolean => uidOf(object) === uidOf(pod) || (isStatic(pod) && isMirror(object))
const refOf = ({ metadata }: Pod) => ({ namespace: metadata.namespace, name: metadata.name ?? '' })
/** Resource versions of one collection can be compared since Kubernetes 1.35. */
const newest = (a: Pod | undefined, b: Pod | undefined): Pod | undefined => {
  if (!a || !b || uidOf(a) !== uidOf(b)) return a
  return BigInt(a.metadata.resourceVersion ?? 0) >= BigInt(b.metadata.resourceVersion ?? 0) ? a : b
}
/**
 * Returns true if the error says that the pod is gone. It may be a 403, because the node authorizer no longer knows
 * that the pod was this node's.
 */
const isGone = (error: unknown): boolean =>
  error instanceof StatusError &&
  (error.code === 404 || (error.code === 403 && error.message.includes('no relationship found')))
