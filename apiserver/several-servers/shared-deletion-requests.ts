import type { TerminationRequest } from '../../shared/api/termination.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import {
  type DeletionRequests,
  keyPrefix,
  maxObjects,
  maxRequests,
  startExpiry,
  type TimedTries,
} from '../registry/index.ts'
import type { Storage, StorageWatch } from '../storage/engine.ts'

/** No kind that is served has keys with this prefix. */
const prefix = keyPrefix({ group: 'kubestage.dev', plural: 'deletionrequests' })
/** Requests are kept this long after the last one for their object; a longer grace period ends without them. */
const ttlMs = 2 * 3_600_000

type Requests = readonly TerminationRequest[]

/**
 * Keeps the requests in the storage, where several servers answer for the objects: each server knows who asked at
 * another.
 */
export class SharedDeletionRequests implements DeletionRequests {
  readonly #storage: Storage
  readonly #byUid = new Map<string, TerminationRequest[]>()
  readonly #watch: StorageWatch
  readonly #expiry: { close(): void }

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage
    this.#watch = storage.watch({
      prefix,
      onEvents: (events) => {
        for (const { key, value } of events) this.#learn(key, value)
      },
    })
    this.#expiry = startExpiry({ storage, clock: clock.machine, prefix, ttlMs, max: maxObjects })
  }

  async load(): Promise<void> {
    const { entries } = await this.#storage.list({ prefix })
    for (const { key, value } of entries) this.#learn(key, value)
  }

  of(uid: string): TerminationRequest[] | undefined {
    return this.#byUid.get(uid)
  }

  /** Does nothing: `announce` has stored the request before the write. */
  note(): void {}

  async announce(uid: string, request: TerminationRequest, tries: TimedTries): Promise<{ takeBack(): Promise<void> }> {
    const text = JSON.stringify(request)
    const withIt = (requests: Requests): Requests => (requests.length < maxRequests ? [...requests, request] : requests)
    await this.#change(uid, withIt, tries)
    const without = (requests: Requests): Requests => {
      const index = requests.findLastIndex((one) => JSON.stringify(one) === text)
      return requests.filter((_, at) => at !== index)
    }
    return { takeBack: () => this.#change(uid, without, tries) }
  }

  close(): void {
    this.#watch.close()
    this.#expiry.close()
  }

  /** Other servers may write the same entry in between: then the change is tried again while the request has time. */
  async #change(uid: string, change: (requests: Requests) => Requests, tries: TimedTries): Promise<void> {
    const key = prefix + uid
    for (;;) {
      const entry = await this.#storage.get(key)
      const before = entry ? requestsIn(entry.value) : []
      const after = change(before)
      if (after === before || (after.length === 0 && !entry)) return
      const value = JSON.stringify({ metadata: { name: uid }, requests: after })
      const { ok } =
        after.length === 0
          ? await this.#storage.delete({ key, expect: entry!.revision })
          : await this.#storage.put({ key, value, expect: entry?.revision ?? 'absent', freeing: true })
      if (ok) return
      tries.checkTime()
    }
  }

  #learn(key: string, value: string | undefined): void {
    const uid = key.slice(prefix.length)
    if (value === undefined) this.#byUid.delete(uid)
    else this.#byUid.set(uid, requestsIn(value))
  }
}

const requestsIn = (value: string): TerminationRequest[] =>
  (JSON.parse(value) as { requests: TerminationRequest[] }).requests
