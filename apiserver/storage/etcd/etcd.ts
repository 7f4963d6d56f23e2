import { rootOf, upstreamKey } from '../../../shared/api/upstream-keys.ts'
import type { EventLogLimits } from '../engine.ts'
import {
  CompactedError,
  checkFence,
  type DeleteEntryOptions,
  defaultHistory,
  type ExpiryRule,
  type Fence,
  FencedError,
  type ListOptions,
  type ListResult,
  type PutOptions,
  StateReads,
  type Storage,
  StorageFullError,
  StoreState,
  type WriteResult,
} from '../engine.ts'
import { EtcdClient, type EtcdClientOptions } from './client.ts'
import { Compactor } from './compactor.ts'
import { EtcdCopy, type EtcdCopyOptions } from './etcd-copy.ts'
import { checkComplete } from './incomplete.ts'
import { Leases } from './leases.ts'
import { rangeOf, readPast, readRange } from './load.ts'
import type { Draft } from './messages.ts'
import { checkAbove, checkBelow } from './neighbours.ts'
import { isCompacted, startError, storageError } from './reasons.ts'
import { checkVersion } from './version.ts'

export interface EtcdStorageOptions extends EtcdClientOptions, Pick<EtcdCopyOptions, 'onTrouble'> {
  /** Replaces `/registry`, as upstream's `--etcd-prefix` does. */
  prefix: string
  history?: EventLogLimits
  /** 0: this server never compacts. Default: upstream's five minutes. */
  compactionIntervalMs?: number
  /** Runs when etcd has used up its quota, and when there is room again. */
  onRoom?(isFull: boolean): void
}

const defaultIntervalMs = 5 * 60_000
/** Limits how long a start waits for an etcd that may be starting as well. */
const startTimeoutMs = 5_000
/** A Lease is renewed every two seconds. */
const maxFenceTries = 5

/**
 * Objects in etcd, which several API servers may share. A copy of them all is held here, fed by one watch: reads are
 * served from it, and a write resolves when the copy has it. Rejects with one sentence when etcd cannot be used.
 */
export async function openEtcdStorage(options: EtcdStorageOptions): Promise<Storage> {
  const { endpoints, history = defaultHistory } = options
  const place = `etcd at ${endpoints.join(', ')}`
  const prefix = rootOf(options.prefix)
  const client = new EtcdClient(options)
  let storage: EtcdStorage | undefined
  try {
    const { version, header } = await client.call('status', {}, { isRepeatable: true, timeoutMs: startTimeoutMs })
    checkVersion(version, place)
    await checkAbove(client, prefix)
    await checkComplete(client, prefix)
    const { entries, revision } = await readPast(client, prefix, history)
    const state = new StoreState(history, revision)
    for (const entry of entries) state.restore(entry)
    const clusterId = header?.cluster_id ?? ''
    storage = new EtcdStorage({ ...options, client, prefix, place, version, clusterId, state })
    await storage.catchUp()
    checkBelow(prefix, state.keys())
    return storage
  } catch (error) {
    await storage?.close()
    client.close()
    throw startError(error, place)
  }
}

interface Target {
  key: string
  /** The key in etcd. */
  theirs: string
  expect: number | undefined
  fence?: Fence
}

// Comparisons of a transaction. Upstream: Compare of api/etcdserverpb/rpc.proto.
const isAt = (key: string, mod_revision: number): Draft<'Compare'> => ({ result: 0, target: 2, key, mod_revision })
const exists = (key: string): Draft<'Compare'> => ({ result: 1, target: 0, key, version: 0 })

class EtcdStorage extends StateReads implements Storage {
  readonly #options: EtcdStorageOptions & EtcdCopyOptions
  readonly #copy: EtcdCopy
  readonly #leases: Leases
  readonly #compactor: Compactor | undefined
  #isFull = false

  constructor(options: EtcdStorageOptions & EtcdCopyOptions) {
    super(options.state)
    const { client, clock, compactionIntervalMs: intervalMs = defaultIntervalMs, onTrouble, place } = options
    this.#options = options
    this.#copy = new EtcdCopy(options)
    this.#leases = new Leases(client, clock)
    const onError = (error: Error) => onTrouble?.(`${place} was not compacted: ${error.message}`)
    this.#compactor = intervalMs > 0 ? new Compactor(client, { clock, intervalMs, onError }) : undefined
  }

  override async list(options: ListOptions): Promise<ListResult> {
    const { revision = this.revision() } = options
    return revision < this.oldestRevision() ? this.#listPast(options, revision) : super.list(options)
  }

  async put({ key, value, expect, fence }: PutOptions): Promise<WriteResult> {
    const theirs = upstreamKey(this.#options.prefix, key)
    return this.#writing(async () => {
      const lease = await this.#leases.of(key)
      const mod_revision = expect === 'absent' ? 0 : expect
      const target = { key, theirs, expect: mod_revision, fence }
      const result = await this.#write(target, isAt(theirs, mod_revision), [
        { request_put: { key: theirs, value, lease } },
      ])
      // Deletes are taken by a full etcd as well.
      if (result.ok && this.#isFull) this.#setRoom(false)
      return result
    })
  }

  async delete({ key, expect, lastValue, fence }: DeleteEntryOptions): Promise<WriteResult> {
    const theirs = upstreamKey(this.#options.prefix, key)
    const compare = expect === undefined ? exists(theirs) : isAt(theirs, expect)
    const remove = { request_delete_range: { key: theirs } }
    const target = { key, theirs, expect, fence }
    return this.#writing(async () => {
      if (lastValue === undefined) return this.#write(target, compare, [remove])
      try {
        return await this.#write(target, compare, [remove, this.#copy.lastValues.note(key, lastValue)])
      } catch (error) {
        // A full etcd takes deletes, and no words about them.
        if (!(error instanceof StorageFullError)) throw error
        return this.#write(target, compare, [remove])
      }
    })
  }

  async compact(below: number): Promise<void> {
    await this.#copy.ask(() => this.#options.client.call('compact', { revision: below }, { isRepeatable: true }))
    this.state.compact(below)
  }

  catchUp(): Promise<boolean> {
    return this.#copy.catchUp()
  }

  expire(rule: ExpiryRule): void {
    this.#leases.add(rule)
  }

  trouble(): string | undefined {
    return this.#copy.trouble()
  }

  async close(): Promise<void> {
    this.#compactor?.close()
    this.#copy.close()
    this.#options.client.close()
    this.state.close()
  }

  /**
   * A fence is a comparison of the same transaction: that the Lease is at the revision at which its holder was seen
   * here. A Lease that was renewed since is looked at again.
   */
  async #write(target: Target, compare: Draft<'Compare'>, success: Draft<'RequestOp'>[]): Promise<WriteResult> {
    const { fence } = target
    if (!fence) return this.#writeOnce(target, [compare], success)
    for (let tries = 0; tries < maxFenceTries; tries++) {
      const lease = this.state.get(fence.key)
      checkFence(fence, lease?.value)
      const { revision: mod_revision } = lease!
      const isHeld = isAt(upstreamKey(this.#options.prefix, fence.key), mod_revision)
      const result = await this.#writeOnce(target, [compare, isHeld], success)
      if (result.ok) return result
      await this.catchUp()
      if (this.state.get(fence.key)?.revision === mod_revision)
        return { ok: false, current: this.state.get(target.key) }
    }
    throw new FencedError(fence)
  }

  async #writeOnce(
    { key, theirs, expect }: Target,
    compare: Draft<'Compare'>[],
    success: Draft<'RequestOp'>[],
  ): Promise<WriteResult> {
    const failure = [{ request_range: { key: theirs, keys_only: true } }]
    const request = { compare, success, failure }
    const { header, succeeded, responses } = await this.#copy.ask(() =>
      this.#options.client.call('txn', request, { isRepeatable: false }),
    )
    const revision = header?.revision ?? 0
    if (succeeded) {
      await this.#copy.reached(revision)
      return { ok: true, revision }
    }
    // The caller is told what won, and finds it here when it tries again.
    const winner = responses[0]?.response_range?.kvs[0]
    if (winner) await this.#copy.reached(winner.mod_revision)
    else if (this.state.get(key)?.revision === expect && expect !== 0) await this.#copy.reached(revision)
    return { ok: false, current: this.state.get(key) }
  }

  /** Runs a write, and learns from its failure that etcd's quota is used up. */
  async #writing(write: () => Promise<WriteResult>): Promise<WriteResult> {
    try {
      return await write()
    } catch (error) {
      const known = storageError(error, this.#options.place)
      if (known instanceof StorageFullError && !this.#isFull) this.#setRoom(true)
      throw known
    }
  }

  #setRoom(isFull: boolean): void {
    this.#isFull = isFull
    this.#options.onRoom?.(isFull)
  }

  async #listPast(options: ListOptions, revision: number): Promise<ListResult> {
    const { client, place, prefix: root } = this.#options
    const { prefix, startAfter, limit } = options
    const range = rangeOf(prefix === '/registry/' ? root : upstreamKey(root, prefix))
    try {
      const { entries } = await readRange(client, root, { range, revision })
      const after = entries.filter(({ key }) => startAfter === undefined || key > startAfter)
      after.sort((a, b) => (a.key < b.key ? -1 : 1))
      const shown = limit === undefined ? after : after.slice(0, limit)
      return { entries: shown, revision, remaining: after.length - shown.length }
    } catch (error) {
      if (isCompacted(error)) throw new CompactedError(this.oldestRevision())
      throw storageError(error, place)
    }
  }
}
