import { extname, join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { noteStored } from '../../../shared/api/json/exact-json.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import { collectGarbage } from '../../../shared/memory/collect-garbage.ts'
import { heapUse, largerHeap } from '../../../shared/memory/heap-use.ts'
import type { EventLogLimits } from '../event-log.ts'
import { checkFence, type Fence } from '../fence.ts'
import { StateReads } from '../state-reads.ts'
import { type Storage, StorageFullError, type WriteResult } from '../storage.ts'
import { defaultHistory, StoreState } from '../store-state.ts'
import type { Order, Report, Row } from './messages.ts'
import { fullReason } from './reasons.ts'

export interface SqliteStorageOptions {
  /** Made if there is none. */
  file: string
  history?: EventLogLimits
  /** Runs when the disk is full, and when there is room again. */
  onRoom?(isFull: boolean): void
  /** Receives the revision of each write before anyone is told of the write. */
  publish?(revision: number): void
}

/** A write that is on its way to the disk. */
interface Pending extends Row {
  succeed(): void
  fail(error: Error): void
  /** Resolves when it has either happened or failed. */
  settled: Promise<unknown>
}

/** Forgotten revisions before the file is told to forget them, too. */
const compactEvery = 2_000
/** The used part of the heap from which on no more is read at the start: a server needs the rest for its work. */
const fullAtStart = 0.8
/** `.ts` in a checkout, `.js` where it was built. */
const workerFile = join(import.meta.dirname, `worker${extname(import.meta.filename)}`)

/**
 * A store that is still there after the power has failed. Whatever comes while one group of writes is being made
 * durable is the next group, in another thread; only then the writers, the readers and the watches learn of it. Rejects
 * with one sentence when the file cannot be used.
 */
export async function openSqliteStorage(options: SqliteStorageOptions): Promise<Storage> {
  const { file, onRoom = () => {} } = options
  const worker = new Worker(workerFile, { workerData: { file: resolve(file) } })
  const state = await readState(worker, options)
  return new SqliteStorage({ file, worker, state, onRoom })
}

async function readState(
  worker: Worker,
  { file, history = defaultHistory, publish }: SqliteStorageOptions,
): Promise<StoreState> {
  const opened = Promise.withResolvers<StoreState>()
  let state: StoreState | undefined
  const refuse = (reason: string): void => opened.reject(new ConfigError(`storage file ${file} ${reason}`))
  const read = (): void => worker.postMessage({ type: 'read' } satisfies Order)
  const makeRoom = async (): Promise<void> => {
    await collectGarbage()
    if (heapUse() < fullAtStart) read()
    else refuse(`holds more objects than the heap has room for; start with ${largerHeap()}`)
  }
  const receive = (report: Report): void => {
    if (report.type === 'entries') {
      state ??= new StoreState(history, report.oldest, publish)
      for (const entry of report.entries) {
        noteStored(entry.value ?? '')
        state.restore(entry)
      }
    } else if (report.type === 'history') {
      for (const { value = '', lastValue = '' } of report.changes) noteStored(value || lastValue)
      state?.apply(report.changes)
    }
    if (report.type === 'opened' && state) opened.resolve(state)
    else if (report.type === 'refused') refuse(report.reason)
    else if (heapUse() < fullAtStart) read()
    else makeRoom().catch(opened.reject)
  }
  worker.on('message', receive).once('error', opened.reject)
  // The thread reads one batch while another is taken in here.
  read()
  read()
  try {
    return await opened.promise
  } catch (error) {
    // `terminate` of a thread that is about to end can end the process.
    worker.postMessage({ type: 'close' } satisfies Order)
    throw error
  } finally {
    worker.off('message', receive).off('error', opened.reject)
  }
}

class SqliteStorage extends StateReads implements Storage {
  readonly #file: string
  readonly #worker: Worker
  /** The newest write of each key that has one on its way. */
  readonly #head = new Map<string, Pending>()
  #headRevision: number
  #queue: Pending[] = []
  #writing: Pending[] | undefined
  #compacted: number
  #closed: PromiseWithResolvers<void> | undefined
  #broken: Error | undefined
  /** Says why writes are refused; deletes are taken. */
  #full: StorageFullError | undefined
  #look: PromiseWithResolvers<void> | undefined
  readonly #onRoom: (isFull: boolean) => void

  constructor(options: { file: string; worker: Worker; state: StoreState; onRoom(isFull: boolean): void }) {
    super(options.state)
    const { file, worker, state, onRoom } = options
    this.#onRoom = onRoom
    this.#file = file
    this.#worker = worker
    this.#headRevision = state.revision
    this.#compacted = state.oldestRevision
    worker.on('message', (report: Report) => this.#receive(report))
    worker.on('error', (error: Error) => this.#break(error))
    worker.unref()
  }

  put({ key, value, expect, freeing, fence }: Parameters<Storage['put']>[0]): Promise<WriteResult> {
    return this.#write(
      { key, value, freeing },
      fence,
      (revision) => (expect === 'absent' ? undefined : expect) === revision,
    )
  }

  delete({ key, expect, lastValue, fence }: Parameters<Storage['delete']>[0]): Promise<WriteResult> {
    return this.#write(
      { key, lastValue, freeing: true },
      fence,
      (revision) => revision !== undefined && (expect ?? revision) === revision,
    )
  }

  async compact(below: number): Promise<void> {
    this.state.compact(below)
    this.#compactFile()
  }

  /** Resolves when the writes under way have arrived. */
  async close(): Promise<void> {
    if (this.#closed) return this.#closed.promise
    this.#closed = Promise.withResolvers()
    this.#worker.ref()
    if (this.#broken) this.#closed.resolve()
    else if (!this.#writing && this.#queue.length === 0) this.#send({ type: 'close' })
    await this.#closed.promise
    await this.#worker.terminate()
    this.state.close()
  }

  /** `fits`: whether the write may happen on top of the key's revision (none: it is absent). */
  async #write(
    change: Pick<Row, 'key' | 'value' | 'lastValue' | 'freeing'>,
    fence: Fence | undefined,
    fits: (revision: number | undefined) => boolean,
  ): Promise<WriteResult> {
    let refused: unknown
    for (;;) {
      if (this.#closed || this.#broken) throw this.#broken ?? new Error(`storage file ${this.#file} is closed`)
      if (fence) this.#check(fence)
      const ahead = this.#head.get(change.key)
      const current = this.state.get(change.key)
      const previous = ahead ? (ahead.value === undefined ? undefined : ahead.revision) : current?.revision
      if (fits(previous)) {
        if (this.#full && !change.freeing) {
          await this.#lookForRoom()
          if (this.#full) throw this.#full
          continue
        }
        const revision = ++this.#headRevision
        try {
          await this.#enqueue({ ...change, revision, previous })
          return { ok: true, revision }
        } catch (error) {
          // A delete was refused together with the write that found the disk full.
          if (!change.freeing || refused || !(error instanceof StorageFullError)) throw error
          refused = error
          continue
        }
      }
      if (!ahead) return { ok: false, current }
      // Only what is durable decides.
      await ahead.settled
    }
  }

  /** Looks at the newest write of the Lease, which goes to the file before this one. */
  #check(fence: Fence): void {
    const ahead = this.#head.get(fence.key)
    checkFence(fence, ahead ? ahead.value : this.state.get(fence.key)?.value)
  }

  #enqueue(row: Row): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const pending: Pending = { ...row, succeed: resolve, fail: reject, settled: promise.catch(() => {}) }
    this.#head.set(row.key, pending)
    // All that one turn of the event loop brings goes together.
    if (this.#queue.push(pending) === 1 && !this.#writing) setImmediate(() => this.#next())
    return promise
  }

  #next(): void {
    if (this.#writing || this.#broken) return
    if (this.#queue.length > 0) {
      this.#writing = this.#queue
      this.#queue = []
      this.#worker.ref()
      const rows = this.#writing.map(({ revision, previous, key, value, lastValue, freeing }) => ({
        revision,
        previous,
        key,
        value,
        lastValue,
        freeing,
      }))
      this.#send({ type: 'write', rows })
    } else if (this.#closed) {
      this.#send({ type: 'close' })
    } else {
      this.#worker.unref()
    }
  }

  #receive(report: Report): void {
    if (report.type === 'written') this.#publish()
    else if (report.type === 'failed') this.#fail(report)
    else if (report.type === 'room') this.#setRoom(report.isFull)
    else if (report.type === 'closed') this.#closed?.resolve()
  }

  #fail({ reason, isFull }: { reason: string; isFull: boolean }): void {
    const message = `storage file ${this.#file} ${reason}`
    if (isFull && !this.#full) this.#setRoom(true)
    this.#giveUp(isFull ? new StorageFullError(message) : new ConfigError(message))
  }

  /** Looks once for all that ask meanwhile. */
  #lookForRoom(): Promise<void> {
    if (!this.#look) {
      this.#look = Promise.withResolvers()
      this.#worker.ref()
      this.#send({ type: 'look' })
    }
    return this.#look.promise
  }

  #setRoom(isFull: boolean): void {
    const wasFull = this.#full !== undefined
    this.#full = isFull ? new StorageFullError(`storage file ${this.#file} ${fullReason}`) : undefined
    if (isFull !== wasFull) this.#onRoom(isFull)
    this.#look?.resolve()
    this.#look = undefined
    this.#next()
  }

  #publish(): void {
    const written = this.#writing ?? []
    this.#writing = undefined
    for (const pending of written) if (this.#head.get(pending.key) === pending) this.#head.delete(pending.key)
    this.state.apply(written)
    for (const { succeed } of written) succeed()
    this.#compactFile()
    this.#next()
  }

  /** Fails the writes under way and those that wait, since these were decided on top of what has failed. */
  #giveUp(error: Error): void {
    const lost = [...(this.#writing ?? []), ...this.#queue]
    this.#writing = undefined
    this.#queue = []
    this.#head.clear()
    this.#headRevision = this.state.revision
    for (const { fail } of lost) fail(error)
    this.#next()
  }

  #break(error: Error): void {
    this.#broken = error
    this.#look?.resolve()
    this.#giveUp(error)
    this.#closed?.resolve()
  }

  #compactFile(): void {
    const { oldestRevision } = this.state
    if (oldestRevision - this.#compacted < compactEvery) return
    this.#compacted = oldestRevision
    this.#send({ type: 'compact', revision: oldestRevision })
  }

  #send(order: Order): void {
    this.#worker.postMessage(order)
  }
}
