import type { TrimmedPod } from '../trimmed-pod.ts'

type State = 'active' | 'trying' | 'parked'

interface Waiting {
  pod: TrimmedPod
  /** Order of arrival. */
  number: number
  state: State
  /** Why the last try failed. */
  verdict?: string
}

/** Describes a pod that was taken from the queue. */
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
  #arrivals = 0
  #changes = 0

  /**
   * Adds a pod, or its new version. Returns true if it became active: the pod is new, or was parked and its spec has
   * changed.
   */
  put(pod: TrimmedPod): boolean {
    const uid = pod.metadata.uid ?? ''
    const known = this.#waiting.get(uid)
    if (!known) {
      this.#waiting.set(uid, { pod, number: ++this.#arrivals, state: 'parked' })
      return this.#activate(uid)
    }
    const changed = known.pod.metadata.generation !== pod.metadata.generation
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
    const changes = this.#changes
    const park = (verdict: string): boolean => {
      if (this.#waiting.get(uid) !== waiting) return false
      waiting.state = 'parked'
      waiting.verdict = verdict
      const outdated = changes !== this.#changes || waiting.pod.metadata.generation !== pod.metadata.generation
      return outdated && this.#activate(uid)
    }
    return { pod, lastVerdict, park }
  }

  /** Activates a parked pod. Returns false if the pod was not parked. */
  activate(uid: string): boolean {
    return this.#waiting.get(uid)?.state === 'parked' && this.#activate(uid)
  }

  /** Activates all parked pods after a change of the cluster, the oldest first. Returns their number. */
  wake(): number {
    this.#changes += 1
    const parked = [...this.#waiting].filter(([, { state }]) => state === 'parked')
    for (const [uid] of parked.sort(([, a], [, b]) => a.number - b.number)) this.#activate(uid)
    return parked.length
  }

  remove(uid: string): void {
    const waiting = this.#waiting.get(uid)
    if (!waiting) return
    this.#waiting.delete(uid)
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
