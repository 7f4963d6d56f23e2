import { isDeepStrictEqual } from 'node:util'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

type State = 'active' | 'trying' | 'parked'

interface Waiting {
  pod: TrimmedPod
  /** Order of arrival. */
  number: number
  state: State
  /** Says why the last try failed. */
  verdict?: string
  /** True if something has changed since the pod was taken. */
  isOutdated?: boolean
}

export interface Attempt {
  pod: TrimmedPod
  lastVerdict: string | undefined
  /**
   * Parks the pod after a failed attempt. Returns true if the pod became active again, because something has changed
   * since it was taken.
   */
  park(verdict: string): boolean
}

/**
 * Holds the pods without a node: the highest priority first, then the longest waiting. A pod is `active` until it is
 * taken, `trying` while it is, and `parked` after its attempt failed, until something changes.
 */
export class SchedulingQueue {
  readonly #waiting = new Map<string, Waiting>()
  /** Priority → active pods in order of arrival, or of waking. */
  readonly #active = new Map<number, Set<string>>()
  /** UIDs of the waiting pods that have rules about other pods. */
  readonly #lookAtPods = new Set<string>()
  #arrivals = 0

  /**
   * Adds a pod, or its new version. Returns true if it became active: the pod is new, or was parked and its spec or
   * its labels have changed.
   */
  put(pod: TrimmedPod): boolean {
    const uid = pod.metadata.uid ?? ''
    const known = this.#waiting.get(uid)
    if (looksAtPods(pod)) this.#lookAtPods.add(uid)
    if (!known) {
      this.#waiting.set(uid, { pod, number: ++this.#arrivals, state: 'parked' })
      return this.#activate(uid)
    }
    const changed =
      known.pod.metadata.generation !== pod.metadata.generation ||
      !isDeepStrictEqual(known.pod.metadata.labels, pod.metadata.labels)
    if (known.state === 'active') this.#activeOf(known.pod).delete(uid)
    known.pod = pod
    if (known.state === 'active') this.#activeOf(pod).add(uid)
    return known.state === 'parked' && changed && this.#activate(uid)
  }

  take(): Attempt | undefined {
    const priority = Math.max(...[...this.#active].filter(([, uids]) => uids.size > 0).map(([priority]) => priority))
    const [uid] = this.#active.get(priority) ?? []
    const waiting = uid === undefined ? undefined : this.#waiting.get(uid)
    if (uid === undefined || !waiting) return undefined
    this.#activeOf(waiting.pod).delete(uid)
    waiting.state = 'trying'
    const { pod, verdict: lastVerdict } = waiting
    waiting.isOutdated = false
    const park = (verdict: string): boolean => {
      if (this.#waiting.get(uid) !== waiting) return false
      waiting.state = 'parked'
      waiting.verdict = verdict
      const isOutdated = waiting.isOutdated || waiting.pod.metadata.generation !== pod.metadata.generation
      return isOutdated && this.#activate(uid)
    }
    return { pod, lastVerdict, park }
  }

  /** Activates a parked pod. Returns false if the pod was not parked. */
  activate(uid: string): boolean {
    return this.#waiting.get(uid)?.state === 'parked' && this.#activate(uid)
  }

  /** Activates all parked pods after a change of the cluster, the oldest first. Returns their number. */
  wake(): number {
    return this.#wake(this.#waiting.keys())
  }

  /** Activates the parked pods for which the places of other pods matter. Returns their number. */
  wakeThoseThatLookAtPods(): number {
    return this.#wake(this.#lookAtPods)
  }

  #wake(uids: Iterable<string>): number {
    const concerned = [...uids].flatMap((uid) => {
      const waiting = this.#waiting.get(uid)
      return waiting ? [{ uid, waiting }] : []
    })
    for (const { waiting } of concerned) waiting.isOutdated = true
    const parked = concerned.filter(({ waiting }) => waiting.state === 'parked')
    for (const { uid } of parked.sort((a, b) => a.waiting.number - b.waiting.number)) this.#activate(uid)
    return parked.length
  }

  remove(uid: string): void {
    const waiting = this.#waiting.get(uid)
    if (!waiting) return
    this.#waiting.delete(uid)
    this.#lookAtPods.delete(uid)
    this.#activeOf(waiting.pod).delete(uid)
  }

  #activate(uid: string): boolean {
    const waiting = this.#waiting.get(uid)
    if (!waiting) return false
    waiting.state = 'active'
    this.#activeOf(waiting.pod).add(uid)
    return true
  }

  #activeOf({ spec: { priority = 0 } }: TrimmedPod): Set<string> {
    const uids = this.#active.get(priority) ?? new Set()
    this.#active.set(priority, uids)
    return uids
  }
}

/** Returns true if the places of other pods decide where the pod can run. */
const looksAtPods = ({ spec: { affinity, topologySpreadConstraints } }: TrimmedPod): boolean =>
  (affinity?.podAffinity ?? affinity?.podAntiAffinity ?? topologySpreadConstraints) !== undefined
