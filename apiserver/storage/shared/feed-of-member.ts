import { once } from 'node:events'
import type { Socket } from 'node:net'
import { noteStored } from '../../../shared/api/json/exact-json.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { CompactedError, type Storage, type StorageEvent, type StorageWatch, type WriteResult } from '../engine.ts'
import { type AnswerHead, type AskHead, Dialogue } from './dialogue.ts'
import type { EncodedChanges } from './encoded-changes.ts'
import { encodeFrame, type Frame, FrameReader, FrameWriter, frameTypes } from './frames.ts'
import { cut, type Hello, protocol, root, type WriteHead, wordsOf } from './messages.ts'

interface Parts {
  storage: Storage
  changes: EncodedChanges
  clock: Clock
  onTrouble(line: string): void
  answer(question: unknown): unknown
}

interface Write {
  id: number
  value: string
}

/** A member that leaves more unread is disconnected; it comes again, and goes on after what it has. */
const maxUnsentBytes = 64 * 1024 * 1024
/** Counts the past events that are sent before the member has to read. */
const batchEvents = 100
const batchBytes = 1024 * 1024
/** Limits how long a member may take for a batch. */
const patienceMs = 60_000

/** Serves one member of a store: tells it of all writes, in order, and makes its own. */
export class FeedOfMember {
  readonly #socket: Socket
  readonly #parts: Parts
  readonly #writer: FrameWriter
  readonly #reader = new FrameReader()
  readonly #dialogue: Dialogue
  /** Holds the last write of each key. */
  readonly #writes = new Map<string, Write>()
  #watch: StorageWatch | undefined

  constructor(socket: Socket, parts: Parts) {
    this.#socket = socket
    this.#parts = parts
    this.#writer = new FrameWriter(socket)
    this.#dialogue = new Dialogue((frame) => this.#writer.write(frame), parts.clock)
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => {
      this.#watch?.close()
      this.#dialogue.close()
    })
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of this.#reader.read(chunk)) this.#receive(frame)
      } catch (error) {
        this.#giveUp(error)
      }
    })
  }

  ask(question: unknown, timeoutMs?: number): Promise<unknown> {
    return this.#dialogue.ask(question, timeoutMs)
  }

  close(): void {
    this.#writer.flush()
    this.#socket.destroySoon()
  }

  #receive({ type, head, body }: Frame): void {
    if (type === frameTypes.hello) this.#begin(head as Hello).catch((error: unknown) => this.#giveUp(error))
    else if (type === frameTypes.write) void this.#write(head as WriteHead, body)
    else if (type === frameTypes.ask) void this.#dialogue.answer(head as AskHead, this.#parts.answer)
    else if (type === frameTypes.answer) this.#dialogue.settle(head as AnswerHead)
    else if (type === frameTypes.compact) void this.#parts.storage.compact(head as number)
  }

  /** Disconnects the member: it does what none of this version does, or the store cannot be read. */
  #giveUp(error: unknown): void {
    if (this.#socket.destroyed) return
    this.#parts.onTrouble(`an API server of this cluster is disconnected: ${(error as Error).message}`)
    this.#socket.destroy()
  }

  async #begin(hello: Hello): Promise<void> {
    const { storage } = this.#parts
    if (hello.protocol !== protocol || this.#watch) throw new Error('it is of another version; start it again')
    let { after } = hello
    for (;;) {
      if (after < storage.oldestRevision()) after = await this.#sendState()
      try {
        await this.#sendSince(after)
        return
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error
        after = 0
      }
    }
  }

  /** Sends how everything was at the oldest revision that is known: resolves to it. */
  async #sendState(): Promise<number> {
    const { storage } = this.#parts
    const { entries, revision } = await storage.list({ prefix: root, revision: storage.oldestRevision() })
    this.#writer.write(encodeFrame(frameTypes.state, revision))
    await this.#sendInBatches(entries.map((entry) => ({ ...entry, type: 'put', value: entry.value })))
    return revision
  }

  /** Sends what happened after a revision, and from then on what happens. */
  async #sendSince(after: number): Promise<void> {
    const { storage } = this.#parts
    for (let since = after; ; ) {
      const missed: StorageEvent[] = []
      let isNow = false
      const watch = storage.watch({
        prefix: root,
        afterRevision: since,
        onEvents: (events) => {
          if (isNow) this.#tell(events)
          else missed.push(...events)
        },
      })
      isNow = true
      if (missed.length <= batchEvents) {
        this.#watch = watch
        if (this.#socket.destroyed) return watch.close()
        if (missed.length > 0) this.#tell(missed)
        this.#writer.write(encodeFrame(frameTypes.caughtUp, storage.revision()))
        return
      }
      watch.close()
      await this.#sendInBatches(missed)
      since = missed.at(-1)!.revision
    }
  }

  async #sendInBatches(events: readonly StorageEvent[]): Promise<void> {
    for (let from = 0; from < events.length; from += batchEvents) {
      this.#writer.write(this.#parts.changes.encode(events.slice(from, from + batchEvents), () => undefined))
      if (this.#writer.unsentBytes > batchBytes) await this.#drained()
    }
  }

  async #drained(): Promise<void> {
    this.#writer.flush()
    if (this.#socket.writableLength === 0 || this.#socket.destroyed) return
    const timer = this.#parts.clock.setTimer(patienceMs, () => this.#socket.destroy(), { background: true })
    await Promise.race([once(this.#socket, 'drain'), once(this.#socket, 'close')]).catch(() => {})
    timer.cancel()
    if (this.#socket.destroyed) throw new Error('it did not read what it asked for')
  }

  #tell(events: readonly StorageEvent[]): void {
    const { changes } = this.#parts
    const own = (event: StorageEvent): number | undefined => {
      const write = this.#writes.get(event.key)
      return write !== undefined && write.value === event.value ? write.id : undefined
    }
    const isOwn = this.#writes.size > 0 && events.some((event) => own(event) !== undefined)
    this.#writer.write(isOwn ? changes.encode(events, own) : changes.frame(events))
    if (this.#writer.unsentBytes > maxUnsentBytes) this.#socket.destroy()
  }

  async #write({ id, ...head }: WriteHead, body: Buffer): Promise<void> {
    try {
      const result = await (head.isDelete ? this.#delete(head, body) : this.#put(id, head, body))
      this.#writer.write(encodeFrame(frameTypes.result, [id, result.ok ? result.revision : 0]))
    } catch (error) {
      this.#writer.write(encodeFrame(frameTypes.result, [id, 0, wordsOf(error, head.fence)]))
    }
  }

  async #put(id: number, head: Omit<WriteHead, 'id'>, body: Buffer): Promise<WriteResult> {
    const { storage, changes } = this.#parts
    const { key, expect, lengths = [body.length], freeing, fence } = head
    const parts = cut(body, lengths)
    const value = parts.join('')
    noteStored(value)
    const [write, sent] = [
      { id, value },
      { value, bytes: body },
    ]
    this.#writes.set(key, write)
    changes.note(key, sent)
    try {
      const several = parts.length > 1 ? parts : undefined
      return await storage.put({ key, value, parts: several, expect: expect || 'absent', freeing, fence })
    } finally {
      changes.forget(key, sent)
      if (this.#writes.get(key) === write) this.#writes.delete(key)
    }
  }

  #delete({ key, expect, lengths, fence }: Omit<WriteHead, 'id'>, body: Buffer): Promise<WriteResult> {
    const lastValue = lengths && body.toString('utf8')
    return this.#parts.storage.delete({ key, expect: expect || undefined, lastValue, fence })
  }
}
