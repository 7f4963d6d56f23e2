import { noteStored } from '../../../shared/api/json/exact-json.ts'
import { ownKey, rootOf, upstreamKey } from '../../../shared/api/upstream-keys.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { GrpcError } from '../../../shared/grpc/status.ts'
import type { EventLogLimits } from '../engine.ts'
import {
  type Change,
  CompactedError,
  checkFence,
  type DeleteEntryOptions,
  defaultHistory,
  type Entry,
  type ExpiryRule,
  type Fence,
  FencedError,
  type ListOptions,
  type ListResult,
  type PutOptions,
  RevisionWaiters,
  type Storage,
  StorageFullError,
  StorageUnavailableError,
  type StorageWatch,
  StoreState,
  type WatchOptions,
  type WriteResult,
} from '../engine.ts'
import { EtcdClient, type EtcdClientOptions } from './client.ts'
import { Compactor } from './compactor.ts'
import { Feed } from './feed.ts'
import { checkComplete } from './incomplete.ts'
import { LastValues } from './last-values.ts'
import { Leases } from './leases.ts'
import { foreign, isForeign, rangeOf, readPast, readRange } from './load.ts'
import type { Draft, Message } from './messages.ts'
import { checkAbove, checkBelow } from './neighbours.ts'
import { isCompacted, startError, storageError } from './reasons.ts'
import { checkVersion, tellsProgress } from './version.ts'

export interface EtcdStorageOptions extends EtcdClientOptions {
  /** Replaces `/registry`, as upstream's `--etcd-prefix` does. */
  prefix: string
  history?: EventLogLimits
  /** 0: this server never compacts. Default: upstream's five minutes. */
  compactionIntervalMs?: number
  /** Runs when etcd has used up its quota, and when there is room again. */
  onRoom?(isFull: boolean): void
  /** Receives one line about each failure that is retried. */
  onTrouble?(line: string): void
}

const defaultIntervalMs = 5 * 60_000
/** How long a start waits for an etcd that may be starting as well. */
const startTimeoutMs = 5_000
/** How long a write or a read waits for the feed to be as far as etcd. */
const patienceMs = 10_000
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

interface Parts extends EtcdStorageOptions {
  client: EtcdClient
  place: string
  version: string
  clusterId: string
  state: StoreState
}

interface Target {
  key: string
  /** The key in etcd. */
  theirs: string
  expect: number | undefined
  fence?: Fence
}

class EtcdStorage implements Storage {
  readonly #client: EtcdClient
  readonly #prefix: string
  readonly #place: string
  readonly #clusterId: string
  readonly #state: StoreState
  readonly #feed: Feed
  readonly #waiters: RevisionWaiters
  readonly #lastValues: LastValues
  readonly #leases: Leases
  readonly #compactor: Compactor | undefined
  readonly #onRoom: (isFull: boolean) => void
  readonly #onTrouble: (line: string) => void
  readonly #tellsProgress: boolean
  #isFull = false
  #trouble: string | undefined
  /** Nothing more can be trusted until a new start. */
  #broken: ConfigError | undefined
  #asking: Promise<number> | undefined
  #askingNext: Promise<number> | undefined

  constructor(parts: Parts) {
    const { client, clock, prefix, place, version, clusterId, state } = parts
    this.#client = client
    this.#prefix = prefix
    this.#place = place
    this.#clusterId = clusterId
    this.#state = state
    this.#onRoom = parts.onRoom ?? (() => {})
    this.#onTrouble = parts.onTrouble ?? (() => {})
    this.#tellsProgress = tellsProgress(version)
    this.#lastValues = new LastValues(prefix)
    this.#leases = new Leases(client, clock)
    this.#waiters = new RevisionWaiters(clock, { patienceMs, nudge: () => this.#askProgress() })
    const { compactionIntervalMs: intervalMs = defaultIntervalMs } = parts
    const onError = (error: Error) => this.#onTrouble(`${place} was not compacted: ${error.message}`)
    this.#compactor = intervalMs > 0 ? new Compactor(client, { clock, intervalMs, onError }) : undefined
    this.#feed = new Feed({
      client,
      clock,
      range: rangeOf(prefix),
      after: state.revision,
      onEvents: (events, revision) => this.#apply(events, revision),
      onCompacted: () => this.#loadAgain(),
      onConnection: (error) => this.#noteConnection(error),
    })
  }

  revision(): number {
    return this.#state.revision
  }

  oldestRevision(): number {
    return this.#state.oldestRevision
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#state.get(key)
  }

  async list(options: ListOptions): Promise<ListResult> {
    const { revision = this.revision() } = options
    return revision < this.oldestRevision() ? this.#listPast(options, revision) : this.#state.list(options)
  }

  async put({ key, value, expect, fence }: PutOptions): Promise<WriteResult> {
    const theirs = upstreamKey(this.#prefix, key)
    return this.#writing(async () => {
      const lease = await this.#leases.of(key)
      const mod_revision = expect === 'absent' ? 0 : expect
      const compare = { result: 0, target: 2, key: theirs, mod_revision }
      const target = { key, theirs, expect: mod_revision, fence }
      const result = await this.#write(target, compare, [{ request_put: { key: theirs, value, lease } }])
      // Deletes are taken by a full etcd as well.
      if (result.ok && this.#isFull) this.#setRoom(false)
      return result
    })
  }

  async delete({ key, expect, lastValue, fence }: DeleteEntryOptions): Promise<WriteResult> {
    const theirs = upstreamKey(this.#prefix, key)
    const compare =
      expect === undefined
        ? { result: 1, target: 0, key: theirs, version: 0 }
        : { result: 0, target: 2, key: theirs, mod_revision: expect }
    const remove = { request_delete_range: { key: theirs } }
    const target = { key, theirs, expect, fence }
    return this.#writing(async () => {
      if (lastValue === undefined) return this.#write(target, compare, [remove])
      try {
        return await this.#write(target, compare, [remove, this.#lastValues.note(key, lastValue)])
      } catch (error) {
        // A full etcd takes deletes, and no words about them.
        if (!(storageError(error, this.#place) instanceof StorageFullError)) throw error
        return this.#write(target, compare, [remove])
      }
    })
  }

  watch(options: WatchOptions): StorageWatch {
    return this.#state.watch(options)
  }

  async compact(below: number): Promise<void> {
    await this.#called(this.#client.call('compact', { revision: below }, { isRepeatable: true }))
    this.#state.compact(below)
  }

  async catchUp(): Promise<boolean> {
    const before = this.revision()
    const latest = await this.#latest()
    if (this.revision() < latest && this.#tellsProgress) this.#feed.requestProgress()
    await this.#reached(latest)
    if (this.#broken) throw this.#broken
    return this.revision() !== before
  }

  expire(rule: ExpiryRule): void {
    this.#leases.add(rule)
  }

  trouble(): string | undefined {
    return this.#broken?.message ?? this.#trouble
  }

  async close(): Promise<void> {
    this.#compactor?.close()
    this.#feed.close()
    this.#waiters.close(new StorageUnavailableError(`${this.#place} is no longer used: the server is shutting down`))
    this.#client.close()
    this.#state.close()
  }

  /**
   * A fence is a comparison of the same transaction: that the Lease is at the revision at which its holder was seen
   * here. A Lease that was renewed since is looked at again.
   */
  async #write(target: Target, compare: Draft<'Compare'>, success: Draft<'RequestOp'>[]): Promise<WriteResult> {
    const { fence } = target
    if (!fence) return this.#writeOnce(target, [compare], success)
    for (let tries = 0; tries < maxFenceTries; tries++) {
      const lease = this.#state.get(fence.key)
      checkFence(fence, lease?.value)
      const { revision: mod_revision } = lease!
      const isHeld = { result: 0, target: 2, key: upstreamKey(this.#prefix, fence.key), mod_revision }
      const result = await this.#writeOnce(target, [compare, isHeld], success)
      if (result.ok) return result
      await this.catchUp()
      if (this.#state.get(fence.key)?.revision === mod_revision)
        return { ok: false, current: this.#state.get(target.key) }
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
    const since = this.revision()
    const { header, succeeded, responses } = await this.#client.call('txn', request, { isRepeatable: false })
    this.#checkHeader(header, since)
    const revision = header?.revision ?? 0
    if (succeeded) {
      await this.#reached(revision)
      return { ok: true, revision }
    }
    // The caller is told what won, and finds it here when it tries again.
    const winner = responses[0]?.response_range?.kvs[0]
    if (winner) await this.#reached(winner.mod_revision)
    else if (this.#state.get(key)?.revision === expect && expect !== 0) await this.#reached(revision)
    return { ok: false, current: this.#state.get(key) }
  }

  /** Errors in the words of the store; and what a write says about the quota. */
  async #writing(write: () => Promise<WriteResult>): Promise<WriteResult> {
    if (this.#broken) throw this.#broken
    try {
      return await write()
    } catch (error) {
      const known = storageError(error, this.#place)
      if (known instanceof StorageFullError && !this.#isFull) this.#setRoom(true)
      throw known
    }
  }

  #setRoom(isFull: boolean): void {
    this.#isFull = isFull
    this.#onRoom(isFull)
  }

  async #called<Answer>(call: Promise<Answer>): Promise<Answer> {
    if (this.#broken) throw this.#broken
    try {
      return await call
    } catch (error) {
      throw storageError(error, this.#place)
    }
  }

  /** What etcd's revision is now. Calls during a question share the next one. */
  #latest(): Promise<number> {
    if (this.#askingNext) return this.#askingNext
    if (!this.#asking) {
      this.#asking = this.#ask().finally(() => {
        this.#asking = undefined
      })
      return this.#asking
    }
    this.#askingNext = this.#asking
      .catch(() => {})
      .then(() => {
        this.#askingNext = undefined
        return this.#latest()
      })
    return this.#askingNext
  }

  async #ask(): Promise<number> {
    const question = { key: this.#lastValues.key, count_only: true }
    const since = this.revision()
    const { header } = await this.#called(this.#client.call('range', question, { isRepeatable: true }))
    this.#checkHeader(header, since)
    return header?.revision ?? 0
  }

  /** Resolves when the copy is as far as `revision`, which may be that of a write below another prefix. */
  async #reached(revision: number): Promise<void> {
    if (this.revision() >= revision) return
    await this.#waiters.wait(revision, `${this.#place} does not tell of its writes`)
  }

  /** An older etcd may answer before it has told all events: there a write by this server comes after them. */
  #askProgress(): void {
    if (this.#tellsProgress) this.#feed.requestProgress()
    else this.#client.call('txn', { success: [this.#lastValues.mark()] }, { isRepeatable: true }).catch(() => {})
  }

  async #listPast(options: ListOptions, revision: number): Promise<ListResult> {
    const { prefix, startAfter, limit } = options
    const range = rangeOf(prefix === '/registry/' ? this.#prefix : upstreamKey(this.#prefix, prefix))
    try {
      const { entries } = await readRange(this.#client, this.#prefix, { range, revision })
      const after = entries.filter(({ key }) => startAfter === undefined || key > startAfter)
      after.sort((a, b) => (a.key < b.key ? -1 : 1))
      const shown = limit === undefined ? after : after.slice(0, limit)
      return { entries: shown, revision, remaining: after.length - shown.length }
    } catch (error) {
      if (isCompacted(error)) throw new CompactedError(this.oldestRevision())
      throw storageError(error, this.#place)
    }
  }

  #apply(events: Message<'Event'>[], revision: number): void {
    this.#lastValues.learn(events)
    const changes: Change[] = []
    for (const { type, kv } of events) {
      const key = kv && ownKey(this.#prefix, kv.key)
      if (key === undefined) continue
      const { mod_revision, value } = kv!
      if (type === 0) {
        if (isForeign(value)) this.#broken ??= new ConfigError(foreign(this.#prefix))
        noteStored(value)
        changes.push({ key, revision: mod_revision, value })
      } else if (this.#state.get(key) || changes.some((change) => change.key === key)) {
        const lastValue = this.#lastValues.of(key, mod_revision)
        if (lastValue !== undefined) noteStored(lastValue)
        changes.push({ key, revision: mod_revision, lastValue })
      }
    }
    if (changes.length > 0) this.#state.apply(changes)
    this.#state.reach(revision)
    this.#waiters.reached(revision)
  }

  /** Runs after a cut so long that etcd has forgotten what happened meanwhile. */
  async #loadAgain(): Promise<number> {
    const { entries, revision } = await readRange(this.#client, this.#prefix, {
      range: rangeOf(this.#prefix),
      revision: 0,
    })
    entries.sort((a, b) => a.revision - b.revision)
    this.#state.replace(entries, revision)
    this.#waiters.reached(revision)
    return revision
  }

  #noteConnection(error: GrpcError | undefined): void {
    const trouble = error && storageError(error, this.#place).message
    if (trouble && !this.#trouble) this.#onTrouble(trouble)
    else if (!trouble && this.#trouble) this.#onTrouble(`${this.#place} answers again`)
    this.#trouble = trouble
  }

  /**
   * Another etcd, or an old state of this one, must not be taken for what was here before. `since`: what was known of it
   * when it was asked.
   */
  #checkHeader(header: Message<'ResponseHeader'> | undefined, since: number): void {
    if (!header || this.#broken) return
    const isOther = header.cluster_id !== this.#clusterId
    if (!isOther && header.revision >= since) return
    const what = isOther
      ? 'is now another etcd cluster'
      : `went back from revision ${since} to ${header.revision}: an older snapshot was restored`
    this.#broken = new StorageUnavailableError(`${this.#place} ${what}; start all API servers again`)
    this.#onTrouble(this.#broken.message)
    throw this.#broken
  }
}
