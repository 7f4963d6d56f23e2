import { ConfigError } from '../../shared/config/option.ts'
import type { Fence } from './fence.ts'

/**
 * The waist below the API: keys, strings, revisions. etcd's semantics, so that etcd itself can be one of the engines.
 * A value is an object's JSON *without* resourceVersion, which is the revision of the last write of its key.
 *
 * One global revision order: every successful `put` and `delete` takes the next revision.
 * Keys are `/registry/<group or core>/<resource>/<namespace>/<name>` (cluster-scoped: without the namespace).
 */
export interface Storage {
  /** Returns the revision of the last write. An empty store starts at 1. */
  revision(): number
  /** The revision from which on everything is known: lists and watches from before it fail. */
  oldestRevision(): number
  get(key: string): Promise<Entry | undefined>
  /**
   * Entries with `prefix` in key order, as they were at `revision` (default: now). Throws {@link CompactedError} below
   * the compacted revision.
   */
  list(options: ListOptions): Promise<ListResult>
  put(options: PutOptions): Promise<WriteResult>
  delete(options: DeleteEntryOptions): Promise<WriteResult>
  /**
   * Delivers every write after `afterRevision` (default: from now) under `prefix`, in revision order, in one call of
   * `onEvents` per batch. An engine tells of its own writes before the write's promise resolves, and of none that could
   * still be lost. Throws {@link CompactedError} synchronously when the history is gone. A watcher that cannot be kept
   * up with is ended with `onEnd(error)`.
   */
  watch(options: WatchOptions): StorageWatch
  /** Forgets the history below `revision`: lists and watches from before it fail. */
  compact(revision: number): Promise<void>
  /**
   * Resolves when everything that any process was told of as written before the call can be read here: to true if that
   * has changed what is read. Rejects with {@link StorageUnavailableError}. Absent if this process is the only writer.
   */
  catchUp?(): Promise<boolean>
  /** Keys of the rule go so long after their last write, by the engine itself. Absent: it has no such means. */
  expire?(rule: ExpiryRule): void
  /** Returns why the engine cannot be used now; undefined if it can. An engine without it is a part of this process. */
  trouble?(): string | undefined
  /** Other servers of the same store that can be asked. Absent: there are none, or they know nothing of each other. */
  peers?: Peers
  close(): Promise<void>
}

/** The holder of a store can ask its members, and each member the holder. Questions and answers are JSON. */
export interface Peers {
  readonly isHolder: boolean
  /** Rejects with what the other throws, or a {@link StorageUnavailableError} if it does not answer in time. */
  ask(peer: string, question: unknown, timeoutMs?: number): Promise<unknown>
  /** Sets who answers, and hears of connections; also of those that are there already. */
  serve(handlers: PeerHandlers): void
}

export interface PeerHandlers {
  answer(question: unknown, peer: string): unknown
  joined?(peer: string): void
  left?(peer: string): void
}

export interface ExpiryRule {
  prefix: string
  ttlMs: number
}

export interface Entry {
  key: string
  value: string
  /** Holds the revision of the last write of this key: the object's resourceVersion. */
  revision: number
  /**
   * Holds the parts that the value is joined from, at least its beginning in the first. Only engines that keep values
   * in parts set it.
   */
  readonly parts?: readonly string[]
}

export interface ListOptions {
  prefix: string
  /** Begins the list after this key. */
  startAfter?: string
  limit?: number
  revision?: number
}
export interface ListResult {
  entries: Entry[]
  /** Holds the revision that the list shows. */
  revision: number
  /** Entries after the last one returned. */
  remaining: number
}

/**
 * Writes reject when the engine cannot make them last, with {@link StorageFullError} for want of room; nothing was
 * written then, and later writes are tried again.
 */
export interface PutOptions {
  key: string
  value: string
  /** The parts that the value is joined from, if the writer knows them. Other values may have each second part, too. */
  parts?: readonly string[]
  /** `'absent'`: create only. A number: only if the key is at that revision. Losing is a result, not an exception. */
  expect: 'absent' | number
  /** Says that the write leads to a deletion. An engine that is full takes it as it takes deletes. */
  freeing?: boolean
  /** Written only while it holds, which is decided together with `expect`; otherwise rejects with a FencedError. */
  fence?: Fence
}
export interface DeleteEntryOptions {
  key: string
  expect?: number
  /** Does the same as in a put. */
  fence?: Fence
  /** Holds the value that the event shows if it is more than what was stored. An engine may have to write it first. */
  lastValue?: string
}
export type WriteResult = { ok: true; revision: number } | { ok: false; current: Entry | undefined }

export interface WatchOptions {
  prefix: string
  afterRevision?: number
  onEvents(events: readonly StorageEvent[]): void
  onEnd?(error?: Error): void
  /** Some writes before this moment were not told: what is read is true, and only the way there is unknown. */
  onGap?(revision: number): void
}
export interface StorageWatch {
  close(): void
}
export interface StorageEvent {
  type: 'put' | 'delete'
  key: string
  revision: number
  /** Holds the new value; absent for a delete. */
  value?: string
  /** The new value as the store keeps it: caches that keep the value keep this one. */
  entry?: Entry
  /** Holds what the key held before. */
  previous?: Entry
  /** Holds the `lastValue` of a delete as it was given. */
  lastValue?: string
}

/** There is no room for a write; reads and deletes go on. The message says where, and what to do. */
export class StorageFullError extends ConfigError {}

/** The engine cannot be reached; whether a write has happened is not known. The message says why, and what to do. */
export class StorageUnavailableError extends ConfigError {}

/** The engine takes no value of this size. */
export class ValueTooLargeError extends Error {}

export class CompactedError extends Error {
  readonly compactedRevision: number
  constructor(compactedRevision: number) {
    super(`required revision has been compacted; the oldest is ${compactedRevision}`)
    this.compactedRevision = compactedRevision
  }
}
