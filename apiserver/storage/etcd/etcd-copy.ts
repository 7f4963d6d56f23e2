import { noteStored } from '../../../shared/api/json/exact-json.ts'
import { ownKey } from '../../../shared/api/upstream-keys.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { GrpcError } from '../../../shared/grpc/status.ts'
import { type Change, RevisionWaiters, StorageUnavailableError, type StoreState } from '../engine.ts'
import type { EtcdClient } from './client.ts'
import { Feed } from './feed.ts'
import { LastValues } from './last-values.ts'
import { foreign, isForeign, rangeOf, readRange } from './load.ts'
import type { Message } from './messages.ts'
import { storageError } from './reasons.ts'
import { tellsProgress } from './version.ts'

export interface EtcdCopyOptions {
  client: EtcdClient
  clock: Clock
  prefix: string
  /** Names etcd in messages. */
  place: string
  version: string
  clusterId: string
  /** Holds what etcd had when it was read. */
  state: StoreState
  /** Receives one line about each failure that is retried. */
  onTrouble?(line: string): void
}

/** Limits how long a write or a read waits for the feed to be as far as etcd. */
const patienceMs = 10_000

/** Keeps the copy of etcd's objects up to date by one watch, and waits until it is as far as etcd. */
export class EtcdCopy {
  readonly lastValues: LastValues
  readonly #options: EtcdCopyOptions
  readonly #state: StoreState
  readonly #feed: Feed
  readonly #waiters: RevisionWaiters
  readonly #tellsProgress: boolean
  #trouble: string | undefined
  /** Nothing more can be trusted until a new start. */
  #broken: ConfigError | undefined
  #asking: Promise<number> | undefined
  #askingNext: Promise<number> | undefined

  constructor(options: EtcdCopyOptions) {
    const { client, clock, prefix, state, version } = options
    this.#options = options
    this.#state = state
    this.#tellsProgress = tellsProgress(version)
    this.lastValues = new LastValues(prefix)
    this.#waiters = new RevisionWaiters(clock, { patienceMs, nudge: () => this.#askProgress() })
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

  /** Calls etcd. Rejects with an error of the store, also if the answer comes from another etcd than the copy. */
  async ask<Answer extends { header: Message<'ResponseHeader'> | undefined }>(
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#broken) throw this.#broken
    const since = this.#state.revision
    try {
      const answer = await call()
      this.#checkHeader(answer.header, since)
      return answer
    } catch (error) {
      throw storageError(error, this.#options.place)
    }
  }

  /** Resolves when the copy is as far as `revision`, which may be that of a write below another prefix. */
  async reached(revision: number): Promise<void> {
    if (this.#state.revision >= revision) return
    await this.#waiters.wait(revision, `${this.#options.place} does not tell of its writes`)
  }

  /** Resolves when the copy is as far as etcd is now: to true if it was not. */
  async catchUp(): Promise<boolean> {
    const before = this.#state.revision
    const latest = await this.#latest()
    if (this.#state.revision < latest && this.#tellsProgress) this.#feed.requestProgress()
    await this.reached(latest)
    if (this.#broken) throw this.#broken
    return this.#state.revision !== before
  }

  trouble(): string | undefined {
    return this.#broken?.message ?? this.#trouble
  }

  close(): void {
    const { place } = this.#options
    this.#feed.close()
    this.#waiters.close(new StorageUnavailableError(`${place} is no longer used: the server is shutting down`))
  }

  /** Resolves to etcd's revision now. Calls during a question share the next one. */
  #latest(): Promise<number> {
    if (this.#askingNext) return this.#askingNext
    if (!this.#asking) {
      this.#asking = this.#askRevision().finally(() => {
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

  async #askRevision(): Promise<number> {
    const question = { key: this.lastValues.key, count_only: true }
    const { header } = await this.ask(() => this.#options.client.call('range', question, { isRepeatable: true }))
    return header?.revision ?? 0
  }

  /** An older etcd may answer before it has told all events: there a write by this server comes after them. */
  #askProgress(): void {
    const mark = { success: [this.lastValues.mark()] }
    if (this.#tellsProgress) this.#feed.requestProgress()
    else this.#options.client.call('txn', mark, { isRepeatable: true }).catch(() => {})
  }

  #apply(events: Message<'Event'>[], revision: number): void {
    const { prefix } = this.#options
    this.lastValues.learn(events)
    const changes: Change[] = []
    for (const { type, kv } of events) {
      const key = kv && ownKey(prefix, kv.key)
      if (key === undefined) continue
      const { mod_revision, value } = kv!
      if (type === 0) {
        if (isForeign(value)) this.#broken ??= new ConfigError(foreign(prefix))
        noteStored(value)
        changes.push({ key, revision: mod_revision, value })
      } else if (this.#state.get(key) || changes.some((change) => change.key === key)) {
        const lastValue = this.lastValues.of(key, mod_revision)
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
    const { client, prefix } = this.#options
    const { entries, revision } = await readRange(client, prefix, { range: rangeOf(prefix), revision: 0 })
    entries.sort((a, b) => a.revision - b.revision)
    this.#state.replace(entries, revision)
    this.#waiters.reached(revision)
    return revision
  }

  #noteConnection(error: GrpcError | undefined): void {
    const { onTrouble, place } = this.#options
    const trouble = error && storageError(error, place).message
    if (trouble && !this.#trouble) onTrouble?.(trouble)
    else if (!trouble && this.#trouble) onTrouble?.(`${place} answers again`)
    this.#trouble = trouble
  }

  /**
   * Throws a StorageUnavailableError if another etcd has answered, or this one with an older state than `since`, the
   * revision of the copy when it was asked.
   */
  #checkHeader(header: Message<'ResponseHeader'> | undefined, since: number): void {
    const { clusterId, onTrouble, place } = this.#options
    if (!header || this.#broken) return
    const isOther = header.cluster_id !== clusterId
    if (!isOther && header.revision >= since) return
    const what = isOther
      ? 'is now another etcd cluster'
      : `went back from revision ${since} to ${header.revision}: an older snapshot was restored`
    this.#broken = new StorageUnavailableError(`${place} ${what}; start all API servers again`)
    onTrouble?.(this.#broken.message)
    throw this.#broken
  }
}
