import type { TerminationRequest } from '../../shared/api/termination.ts'
import type { DeleteOptions, KubeObject } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { ObjectScope } from './write-context.ts'

/** Bounds: objects remembered, the oldest forgotten first, and requests for each. */
const maxObjects = 10_000
const maxRequests = 8

/**
 * The requests for the deletion of an object with a grace period: users and options, which the object itself does not
 * have.
 * Kept beside the store, so that deleted objects look as those of a stock server do.
 */
export class DeletionRequests {
  readonly #byUid = new Map<string, TerminationRequest[]>()

  /** `old`: the object as the request found it. */
  note({ definition, user }: ObjectScope, old: KubeObject, options: DeleteOptions, nowMs: number): void {
    const { uid, deletionTimestamp } = old.metadata
    if (!uid || !definition.strategy.checkGracefulDelete) return
    // A kubelet asks last, when all is over.
    if (deletionTimestamp !== undefined && user.groups.includes('system:nodes')) return
    const { gracePeriodSeconds, reason } = options
    const requests = this.#byUid.get(uid) ?? []
    if (requests.length >= maxRequests) return
    requests.push({ user: user.name, time: toTime(nowMs), gracePeriodSeconds, reason })
    this.#byUid.set(uid, requests)
    if (this.#byUid.size > maxObjects) this.#byUid.delete(this.#byUid.keys().next().value!)
  }

  of(uid: string): TerminationRequest[] | undefined {
    return this.#byUid.get(uid)
  }
}
