import { upstreamKey } from '../../../shared/api/upstream-keys.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import { incompleteKey } from '../etcd/incomplete.ts'
import type { Leases } from '../etcd/leases.ts'
import { rangeOf } from '../etcd/load.ts'
import type { Draft } from '../etcd/messages.ts'
import { isCompacted, storageError } from '../etcd/reasons.ts'
import type { Entry } from '../storage.ts'
import { type EtcdPlace, readAll } from './etcd-place.ts'
import type { Target } from './target.ts'

/** Writes on their way at once: more do not make etcd faster. */
const concurrency = 64

/** Takes the place's client with it. Rejects with a ConfigError where there are objects of a real kube-apiserver. */
export async function etcdTarget(place: EtcdPlace, leases: Leases): Promise<Target> {
  const { entries, revision } = await readAll(place)
  return new EtcdTarget(place, { leases, revision, objects: entries.length })
}

/**
 * Copies to etcd; the copy is marked as incomplete until it has ended. All writes may be repeated, so that the copy
 * goes on when a member of etcd fails.
 */
class EtcdTarget implements Target {
  readonly objects: number
  readonly #place: EtcdPlace
  readonly #leases: Leases
  readonly #mark: string
  #revision: number

  constructor(place: EtcdPlace, { leases, revision, objects }: { leases: Leases; revision: number; objects: number }) {
    this.objects = objects
    this.#place = place
    this.#leases = leases
    this.#mark = incompleteKey(place.prefix)
    this.#revision = revision
  }

  get revision(): number {
    return this.#revision
  }

  async write(entries: readonly Entry[], { after, onWritten }: Parameters<Target['write']>[1]): Promise<number> {
    let written = 0
    let isMarked = false
    try {
      await this.#putMark()
      isMarked = true
      await this.#empty()
      await this.#reach(after)
      await inTurns(entries, concurrency, async (entry) => {
        await this.#put(entry)
        onWritten(++written)
      })
      await this.#transaction([{ request_delete_range: { key: this.#mark } }])
      await this.#forget()
      return this.#revision
    } catch (error) {
      const { message } = storageError(error, this.#place.name)
      if (!isMarked) throw new ConfigError(`${message}; nothing was changed`)
      throw new ConfigError(
        `${message}; ${written} of ${entries.length} objects are below ${this.#place.prefix}, where no API server starts: run the copy again with --overwrite`,
      )
    }
  }

  async close(): Promise<void> {
    this.#place.client.close()
  }

  #putMark(): Promise<void> {
    return this.#transaction([{ request_put: { key: this.#mark, value: 'kubestage storage copy' } }])
  }

  /** All but the mark. */
  #empty(): Promise<void> {
    const { key, range_end } = rangeOf(this.#place.prefix)
    return this.#transaction([
      { request_delete_range: { key, range_end: this.#mark } },
      { request_delete_range: { key: `${this.#mark}\0`, range_end } },
    ])
  }

  /** etcd has no other means: each of its revisions is a write. */
  async #reach(revision: number): Promise<void> {
    while (this.#revision < revision) {
      const missing = Math.min(concurrency, revision - this.#revision)
      await Promise.all(Array.from({ length: missing }, () => this.#putMark()))
    }
  }

  async #put({ key, value }: Entry): Promise<void> {
    const theirs = upstreamKey(this.#place.prefix, key)
    const lease = await this.#leases.of(key)
    await this.#transaction([{ request_put: { key: theirs, value, lease } }])
  }

  /** Forgets the history, since clients saw that of the source: their resourceVersions get 410. */
  async #forget(): Promise<void> {
    try {
      await this.#place.client.call('compact', { revision: this.#revision }, { isRepeatable: true })
    } catch (error) {
      if (!isCompacted(error)) throw error
    }
  }

  async #transaction(success: Draft<'RequestOp'>[]): Promise<void> {
    const { header } = await this.#place.client.call('txn', { success }, { isRepeatable: true })
    this.#revision = Math.max(this.#revision, header?.revision ?? 0)
  }
}

/** Begins no more work after the first failure, and rejects with it when the work under way has ended. */
async function inTurns<Item>(
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values()
  let failure: { error: unknown } | undefined
  const run = async (): Promise<void> => {
    for (const item of left) {
      if (failure) return
      await work(item).catch((error) => {
        failure ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: workers }, run))
  if (failure) throw failure.error
}
