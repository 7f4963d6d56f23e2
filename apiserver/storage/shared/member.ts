import { noteStored } from '../../../shared/api/json/exact-json.ts'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import {
  type Change,
  type DeleteEntryOptions,
  defaultHistory,
  type Entry,
  type EventLogLimits,
  type PeerHandlers,
  type Peers,
  type PutOptions,
  RevisionWaiters,
  StateReads,
  type Storage,
  StorageUnavailableError,
  StoreState,
  type WriteResult,
} from '../engine.ts'
import { type AnswerHead, type AskHead, Dialogue } from './dialogue.ts'
import { encodeFrame, type Frame, frameTypes } from './frames.ts'
import { Link } from './link.ts'
import { type ChangeHead, changeKinds, errorOf, protocol, type ResultHead, type WriteHead } from './messages.ts'
import { addressOf, pageOf } from './place.ts'
import { RevisionPage } from './revision-page.ts'

export interface MemberOptions {
  /** Names the holder's socket. */
  path: string
  clock: Clock
  history?: EventLogLimits
  /** Receives one line about each loss of the holder, and its return. */
  onTrouble?(line: string): void
}

const holder = 'holder'
const startTimeoutMs = 30_000
/** Limits how long a write waits for the holder, and a read for the news of a write. */
const patienceMs = 10_000
const checkMs = 1_000
/** Requests are bounded before they are here; this is for the process's own writes. */
const maxWrites = 10_000
const maxUnsentBytes = 256 * 1024 * 1024

interface Write {
  value?: string
  parts?: readonly string[]
  deadline: number
  key: string
  resolve(result: WriteResult): void
  reject(error: Error): void
}

/**
 * The store that another API server of this machine holds in memory or in a file. A copy of it is held here, fed by one
 * connection, as with etcd: reads are served from the copy, and a write resolves when the copy has it. Rejects with one
 * sentence when the holder cannot be reached.
 */
export async function openMemberStorage(options: MemberOptions): Promise<Storage> {
  const storage = new MemberStorage(options)
  try {
    await storage.opened
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

class MemberStorage extends StateReads implements Storage {
  /** Resolves when the copy is complete. */
  readonly opened: Promise<void>
  readonly #path: string
  readonly #clock: Clock
  readonly #history: EventLogLimits
  readonly #onTrouble: (line: string) => void
  readonly #link: Link
  readonly #waiters: RevisionWaiters
  readonly #opening = Promise.withResolvers<void>()
  readonly #startTimer: Timer
  readonly #writes = new Map<number, Write>()
  readonly #dialogue: Dialogue
  #handlers: PeerHandlers | undefined
  readonly peers: Peers = {
    isHolder: false,
    ask: async (_holder, question, timeoutMs) => {
      if (!this.#link.isReady) throw this.#unreachable()
      return this.#dialogue.ask(question, timeoutMs)
    },
    serve: (handlers) => {
      this.#handlers = handlers
      if (this.#link.isReady) handlers.joined?.(holder)
    },
  }
  #lastId = 0
  /** The holder's revision; there when the copy is complete. */
  #page: RevisionPage | undefined
  /** While a running member is told all again: what there is, by keys. */
  #again: Map<string, Entry> | undefined
  #trouble: string | undefined
  /** Nothing more can be trusted until a new start. */
  #broken: StorageUnavailableError | undefined
  #check: Timer | undefined

  constructor({ path, clock, history = defaultHistory, onTrouble = () => {} }: MemberOptions) {
    super(new StoreState(history))
    this.#path = path
    this.#clock = clock
    this.#history = history
    this.#onTrouble = onTrouble
    this.#waiters = new RevisionWaiters(clock, { patienceMs })
    this.opened = this.#opening.promise
    this.#dialogue = new Dialogue((frame) => this.#link.write(frame), clock)
    this.#startTimer = clock.setTimer(startTimeoutMs, () => this.#notOpened(), { background: true })
    this.#link = new Link({
      path: addressOf(path),
      clock,
      onOpen: (write) => write(encodeFrame(frameTypes.hello, { protocol, after: this.#page ? this.revision() : 0 })),
      onFrame: (frame) => this.#receive(frame),
      onClose: (why) => this.#lost(why),
    })
  }

  put({ key, value, parts = [value], expect, freeing, fence }: PutOptions): Promise<WriteResult> {
    const bodies = parts.map((part) => Buffer.from(part))
    const lengths = bodies.map(({ length }) => length)
    const head = { key, expect: expect === 'absent' ? 0 : expect, lengths, freeing, fence }
    return this.#write(head, bodies, { value, parts: parts.length > 1 ? parts : undefined })
  }

  delete({ key, expect = 0, lastValue, fence }: DeleteEntryOptions): Promise<WriteResult> {
    const bodies = lastValue === undefined ? [] : [Buffer.from(lastValue)]
    const lengths = lastValue === undefined ? undefined : [bodies[0]!.length]
    return this.#write({ key, expect, lengths, fence, isDelete: true }, bodies, {})
  }

  async compact(below: number): Promise<void> {
    this.state.compact(below)
    this.#link.write(encodeFrame(frameTypes.compact, below))
  }

  async catchUp(): Promise<boolean> {
    if (this.#broken) throw this.#broken
    const latest = this.#page?.read() ?? 0
    if (latest <= this.revision()) return false
    await this.#waiters.wait(latest, `${this.#place} does not tell of its writes`)
    return true
  }

  /** The holder does so. */
  expire(): void {}

  trouble(): string | undefined {
    return this.#broken?.message ?? this.#trouble
  }

  async close(): Promise<void> {
    const error = new StorageUnavailableError(`${this.#place} is no longer used: the server is shutting down`)
    this.#check?.cancel()
    this.#startTimer.cancel()
    this.#link.close(error)
    this.#waiters.close(error)
    this.#fail(error)
    this.state.close()
    this.#page?.close()
    this.#page = undefined
  }

  get #place(): string {
    return `the store at ${this.#path}`
  }

  async #write(head: Omit<WriteHead, 'id'>, bodies: readonly Buffer[], own: Pick<Write, 'value' | 'parts'>) {
    if (this.#broken) throw this.#broken
    if (this.#writes.size >= maxWrites || this.#link.unsentBytes > maxUnsentBytes)
      throw new StorageUnavailableError(`${this.#place} has too many writes under way; try again`)
    if (!this.#link.isReady) await this.#untilReady()
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<WriteResult>()
    const deadline = this.#clock.monotonic() + patienceMs
    this.#writes.set(id, { ...own, key: head.key, deadline, resolve, reject })
    this.#check ??= this.#nextCheck()
    this.#link.write(encodeFrame(frameTypes.write, { id, ...head }, bodies))
    return promise
  }

  async #untilReady(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = this.#clock.setTimer(patienceMs, () => reject(this.#unreachable()), { background: true })
    try {
      await Promise.race([this.#link.ready, promise])
    } finally {
      timer.cancel()
    }
  }

  #unreachable(): StorageUnavailableError {
    return new StorageUnavailableError(this.#trouble ?? `${this.#place} does not answer; try again`)
  }

  /** Starts the timer of all writes. If the holder does not answer one of them, the member connects again. */
  #nextCheck(): Timer {
    const check = (): void => {
      const now = this.#clock.monotonic()
      const isLate = [...this.#writes.values()].some(({ deadline }) => deadline < now)
      if (isLate) this.#link.renew()
      this.#check = this.#writes.size > 0 ? this.#nextCheck() : undefined
    }
    return this.#clock.setTimer(checkMs, check, { background: true })
  }

  #receive({ type, head, body }: Frame): void {
    if (type === frameTypes.changes) this.#take(changesIn(head as ChangeHead[], body, this.#writes))
    else if (type === frameTypes.result) this.#settle(head as ResultHead)
    else if (type === frameTypes.answer) this.#dialogue.settle(head as AnswerHead)
    else if (type === frameTypes.ask) void this.#dialogue.answer(head as AskHead, (question) => this.#answer(question))
    else if (type === frameTypes.state) this.#begin(head as number)
    else if (type === frameTypes.caughtUp) this.#caughtUp(head as number)
  }

  #answer(question: unknown): unknown {
    if (!this.#handlers) throw this.#unreachable()
    return this.#handlers.answer(question, holder)
  }

  /** All is told from the beginning: how it was at a revision, and what happened since. */
  #begin(oldest: number): void {
    if (this.#page) this.#again = new Map()
    else this.state = new StoreState(this.#history, oldest)
  }

  #take(changes: readonly Change[]): void {
    if (this.#again) {
      for (const { key, value, revision } of changes) {
        if (value === undefined) this.#again.delete(key)
        else this.#again.set(key, { key, value, revision })
      }
      return
    }
    const oldest = this.#page ? 0 : this.oldestRevision()
    const since = changes.filter(({ revision }) => revision > oldest)
    for (const change of changes) if (change.revision <= oldest) this.state.restore(change)
    if (since.length === 0) return
    this.state.apply(since)
    this.#waiters.reached(this.revision())
  }

  #caughtUp(revision: number): void {
    if (this.#again) {
      const entries = [...this.#again.values()].sort((a, b) => a.revision - b.revision)
      this.#again = undefined
      this.state.replace(entries, revision)
    }
    if (revision < this.revision()) {
      const what = `went back from revision ${this.revision()} to ${revision}`
      this.#broken = new StorageUnavailableError(`${this.#place} ${what}; start all API servers again`)
      this.#onTrouble(this.#broken.message)
      return
    }
    this.#waiters.reached(this.revision())
    this.#startTimer.cancel()
    this.#page ??= RevisionPage.open(pageOf(this.#path))
    if (this.#trouble) this.#onTrouble(`${this.#place} answers again`)
    this.#trouble = undefined
    this.#link.isCaughtUp()
    this.#handlers?.joined?.(holder)
    this.#opening.resolve()
  }

  #settle([id, revision, error]: ResultHead): void {
    const write = this.#writes.get(id)
    if (!write) return
    this.#writes.delete(id)
    if (error) write.reject(errorOf(error))
    else if (revision > 0) write.resolve({ ok: true, revision })
    else write.resolve({ ok: false, current: this.state.get(write.key) })
  }

  #lost(why: string): void {
    this.#again = undefined
    this.#dialogue.close()
    this.#handlers?.left?.(holder)
    this.#fail(new StorageUnavailableError(`${this.#place} was lost during the write: ${why}; it may have happened`))
    if (!this.#trouble && this.#page) this.#onTrouble(`${this.#place} cannot be reached: ${why}`)
    this.#trouble = `${this.#place} cannot be reached: ${why}`
  }

  #fail(error: StorageUnavailableError): void {
    for (const { reject } of this.#writes.values()) reject(error)
    this.#writes.clear()
  }

  #notOpened(): void {
    this.#opening.reject(new ConfigError(this.#trouble ?? `${this.#place} does not answer; start its API server again`))
  }
}

/** Throws an Error for a change whose value is neither there nor known. */
function changesIn(heads: readonly ChangeHead[], body: Buffer, writes: ReadonlyMap<number, Write>): Change[] {
  let at = 0
  return heads.map(([key, revision, kind, length]): Change => {
    if (kind === changeKinds.delete) return { key, revision }
    if (kind === changeKinds.own) {
      const write = writes.get(length)
      if (write?.value === undefined) throw new Error(`a change of ${key} has no value`)
      return { key, revision, value: write.value, parts: write.parts }
    }
    const text = body.toString('utf8', at, at + length)
    at += length
    noteStored(text)
    return kind === changeKinds.put ? { key, revision, value: text } : { key, revision, lastValue: text }
  })
}
