import type { TerminationRequest } from '../../shared/api/termination.ts'
import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { ObjectScope } from './write-context.ts'

/**
 * At most this many objects are remembered, the oldest forgotten first, and at most `maxRequests` requests for each.
 */
export const maxObjects = 10_000
export const maxRequests = 8

/** Lets a request try again until its time is over. */
export interface TimedTries {
  /** Throws a StatusError (504) when the time is over. */
  checkTime(): void
}

/**
 * Keeps the requests for the graceful deletion of an object: users and options, which the object itself does not have.
 * They are kept beside the objects, so that deleted objects look as a stock server's do.
 */
export interface DeletionRequests {
  of(uid: string): TerminationRequest[] | undefined
  /** Notes a write that has begun a deletion or changed it. */
  note(uid: string, request: TerminationRequest): void
  /**
   * Present where other servers answer for the same objects: they learn of the request before the write, and forget it
   * if the write was not made. Both reject with a StatusError (504) when the time of `tries` is over.
   */
  announce?(uid: string, request: TerminationRequest, tries: TimedTries): Promise<{ takeBack(): Promise<void> }>
}

/**
 * Returns the request to note for a DELETE; undefined where none is noted: for a kind without graceful deletion, or
 * from a kubelet about an object that is already being deleted. `old` is the object as the request found it.
 */
export function requestOf(
  { definition, user }: ObjectScope,
  old: KubeObject,
  options: DeleteOptions,
  nowMs: number,
): TerminationRequest | undefined {
  const { uid, deletionTimestamp } = old.metadata
  if (!uid || !definition.strategy.checkGracefulDelete) return undefined
  // A kubelet deletes a pod at the end, when all its containers have ended.
  if (deletionTimestamp !== undefined && user.groups.includes('system:nodes')) return undefined
  const { gracePeriodSeconds, reason } = options
  return { user: user.name, time: toTime(nowMs), gracePeriodSeconds, reason }
}

/** Keeps the requests in memory, for a server that alone answers for all objects. */
export class OwnDeletionRequests implements DeletionRequests {
  readonly #byUid = new Map<string, TerminationRequest[]>()

  note(uid: string, request: TerminationRequest): void {
    const requests = this.#byUid.get(uid) ?? []
    if (requests.length >= maxRequests) return
    requests.push(request)
    this.#byUid.set(uid, requests)
    if (this.#byUid.size > maxObjects) this.#byUid.delete(this.#byUid.keys().next().value!)
  }

  of(uid: string): TerminationRequest[] | undefined {
    return this.#byUid.get(uid)
  }
}
