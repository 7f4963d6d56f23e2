import type { Writable } from 'node:stream'
import type { Clock } from '../../shared/clock/clock.ts'
import { drained } from '../../shared/http/drained.ts'
import type { RecordedGap, RecordedSync, RecordHeader } from '../../shared/record/format.ts'
import { Watch, type WatchCache, type WatchSink } from '../watchcache/index.ts'
import { type Past, pastChunks } from './past-lines.ts'
import { recordEncoder, type TextOf } from './record-encoder.ts'
import { selectionOf } from './record-history.ts'

/** Limits what a reader may leave unread; beyond it, lines are left out. */
const maxUnreadBytes = 8 * 1024 * 1024

/** Where a record goes: a response, or a stream of this process. */
export type RecordStream = Pick<
  Writable,
  'write' | 'writableLength' | 'writableNeedDrain' | 'destroyed' | 'on' | 'off' | 'once'
>

interface ListenerParts {
  response: RecordStream
  caches: readonly WatchCache[]
  textOf: TextOf
  clock: Clock
}

/** The watches of one state and what follows it. */
interface Round {
  isOver: boolean
  readonly watches: Watch<Buffer>[]
}

/**
 * A listener sends the record to one reader: first the state of all collections, then each change. A reader that is too
 * slow gets a gap instead of what it missed, and then the state again.
 */
export class RecordListener {
  readonly #parts: ListenerParts
  #round: Round | undefined
  #isClosed = false

  constructor(parts: ListenerParts) {
    this.#parts = parts
  }

  start(header: RecordHeader, past?: Past): void {
    this.#line(header)
    void (past ? this.#tellPast(past) : this.#sync())
  }

  /** Lines that are no changes of objects. During a gap they are part of what is missing. */
  send(lines: Buffer): void {
    if (this.#round) this.#write(this.#round, lines)
  }

  close(): void {
    this.#isClosed = true
    if (this.#round) this.#end(this.#round)
  }

  /** The past, and then what happens: a reader that leaves too much unread gets a gap here as well. */
  async #tellPast(past: Past): Promise<void> {
    const round: Round = { isOver: false, watches: [] }
    this.#round = round
    for (const chunk of pastChunks(past, this.#parts.textOf)) {
      this.#write(round, chunk)
      await drained(this.#parts.response)
      if (round.isOver || this.#isClosed) return
    }
    await this.#watch(round, past.history.revision)
  }

  async #sync(): Promise<void> {
    const round: Round = { isOver: false, watches: [] }
    this.#round = round
    await this.#watch(round, 'now')
    if (!round.isOver) this.#line({ type: 'SYNCED', at: this.#now() })
  }

  async #watch(round: Round, after: number | 'now'): Promise<void> {
    const { caches, textOf, clock } = this.#parts
    const sink = this.#sinkOf(round)
    for (const cache of caches) {
      const watch = new Watch(cache, sink, {
        selection: selectionOf(cache),
        encoder: recordEncoder(cache, textOf, clock),
        bookmarks: false,
        after,
      })
      round.watches.push(watch)
      try {
        await watch.run()
      } catch (error) {
        this.#lose(round, `the state could not be read: ${(error as Error).message}`)
      }
      if (round.isOver) return
    }
  }

  #sinkOf(round: Round): WatchSink<Buffer> {
    const { response } = this.#parts
    const lose = (): void => this.#lose(round, 'the API server could not go on with its watches')
    return {
      write: (chunk) => this.#write(round, chunk),
      // It has a bound of its own, since all its watches share one response.
      buffered: () => 0,
      drained: () => drained(response),
      end: lose,
      abort: lose,
    }
  }

  #write(round: Round, chunk: Buffer): void {
    if (round.isOver || chunk.length === 0) return
    const { response } = this.#parts
    response.write(chunk)
    if (response.writableLength > maxUnreadBytes)
      this.#lose(round, `the reader was ${Math.round(maxUnreadBytes / 2 ** 20)} MB behind`)
  }

  #lose(round: Round, message: string): void {
    if (round.isOver) return
    this.#end(round)
    if (!this.#isClosed) void this.#goOn(message)
  }

  #end(round: Round): void {
    round.isOver = true
    if (this.#round === round) this.#round = undefined
    for (const watch of round.watches) watch.stop()
  }

  /** A reader that never reads is cut off as any other client (`unreadTimeout`). */
  async #goOn(message: string): Promise<void> {
    await drained(this.#parts.response)
    if (this.#isClosed) return
    this.#line({ type: 'GAP', at: this.#now(), message })
    await this.#sync()
  }

  #now(): string {
    return new Date(this.#parts.clock.now()).toISOString()
  }

  #line(line: RecordHeader | RecordedSync | RecordedGap): void {
    if (!this.#isClosed) this.#parts.response.write(`${JSON.stringify(line)}\n`)
  }
}
