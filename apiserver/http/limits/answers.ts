import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import type { ClientLimits, Connection } from './client-limits.ts'
import type { LimitName, Limits } from './limits.ts'
import { sweepsPerTimeout } from './sweeps.ts'

/** Lists the members of a response that the limits read. Node's responses and Kubestage's own have them. */
export interface Answer {
  readonly writableLength: number
  readonly destroyed: boolean
  readonly writableFinished?: boolean
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

type AnswerLimits = Pick<
  Limits,
  'maxRequestsPerConnection' | 'maxUnreadBytesPerConnection' | 'maxUnreadBytes' | 'unreadTimeout'
>

/** Holds what one connection has under way. */
interface Load {
  /** The weight of requests whose handler runs, and of answers that wait for their client. */
  weight: number
  unread: number
  /** Requests that may not be served yet, in their order. */
  readonly waiting: Set<Waiter>
}

interface Waiter {
  readonly answer: Answer
  readonly connection: Connection
  readonly weight: number
  settle(isAdmitted: boolean): void
}

interface Entry {
  load: Load
  connection: Connection
  weight: number
  /** Counted in `load.unread`: what was unread when the handler returned. */
  unread: number
  /** Holds what the last look saw, and since when; nothing before the first. */
  seenLength: number
  seenMs: number
}

/** An answer with less than this left counts as read: the socket takes it. */
const smallBytes = 64 * 1024

/**
 * Answers under way. A request waits while its client, or all clients together, leave too much unread, and an answer
 * that is not read for a while is cut off: memory follows what clients read, not what they ask for.
 */
export class Answers {
  readonly #limits: AnswerLimits
  readonly #clock: Clock
  readonly #reports: ClientLimits
  readonly #loads = new WeakMap<object, Load>()
  readonly #underWay = new Map<Answer, Entry>()
  /** Holds the loads that have waiting requests. */
  readonly #crowded = new Set<Load>()
  #unread = 0
  #sweep: Timer | undefined

  constructor(limits: AnswerLimits, { clock, reports }: { clock: Clock; reports: ClientLimits }) {
    this.#limits = limits
    this.#clock = clock
    this.#reports = reports
  }

  /**
   * Runs before a request is served. Returns a promise if the request has to wait; it resolves to false if the client
   * has left meanwhile.
   */
  begin(connection: Connection, answer: Answer, weight = 1): undefined | Promise<boolean> {
    let load = this.#loads.get(connection)
    if (!load) {
      load = { weight: 0, unread: 0, waiting: new Set() }
      this.#loads.set(connection, load)
    }
    const full = this.#fullLimit(load)
    if (load.waiting.size === 0 && !full) {
      this.#enter(load, { answer, connection, weight })
      return undefined
    }
    // Without a full one it waits behind those before it.
    if (full) this.#reports.reached(full, connection)
    return this.#wait(load, { answer, connection, weight })
  }

  /** The handler has returned. `release` is called when its client has read the answer, or has left. */
  end(answer: Answer, release?: () => void): void {
    const entry = this.#underWay.get(answer)
    if (!entry) {
      release?.()
      return
    }
    const { writableLength } = answer
    if (writableLength < smallBytes || answer.destroyed || answer.writableFinished) {
      this.#leave(answer, entry)
      release?.()
      return
    }
    entry.unread = writableLength
    entry.load.unread += writableLength
    this.#unread += writableLength
    answer.once('close', () => {
      this.#leave(answer, entry)
      release?.()
    })
  }

  /** The handler has returned, and what it has left unread is counted elsewhere. */
  leave(answer: Answer): void {
    const entry = this.#underWay.get(answer)
    if (entry) this.#leave(answer, entry)
  }

  families(): Family[] {
    const waiting = 'Requests that wait until their client has read earlier answers.'
    const unread = 'Bytes of complete answers that clients have not read.'
    return [
      gauge('kubestage_apiserver_unread_answer_bytes', unread, this.#unread),
      gauge('kubestage_apiserver_waiting_requests', waiting, this.#waitingCount()),
    ]
  }

  close(): void {
    this.#sweep?.cancel()
  }

  #waitingCount(): number {
    let count = 0
    for (const { waiting } of this.#crowded) count += waiting.size
    return count
  }

  /** Returns the limit that a request has to wait for. */
  #fullLimit(load: Load): LimitName | undefined {
    const { maxRequestsPerConnection, maxUnreadBytesPerConnection, maxUnreadBytes } = this.#limits
    if (load.weight >= maxRequestsPerConnection) return 'maxRequestsPerConnection'
    if (load.unread >= maxUnreadBytesPerConnection) return 'maxUnreadBytesPerConnection'
    return this.#unread >= maxUnreadBytes ? 'maxUnreadBytes' : undefined
  }

  #enter(load: Load, { answer, connection, weight }: Omit<Waiter, 'settle'>): void {
    load.weight += weight
    this.#underWay.set(answer, { load, connection, weight, unread: 0, seenLength: 0, seenMs: 0 })
    this.#sweepLater()
  }

  #wait(load: Load, request: Omit<Waiter, 'settle'>): Promise<boolean> {
    const { promise, resolve: settle } = Promise.withResolvers<boolean>()
    const waiter = { ...request, settle }
    load.waiting.add(waiter)
    this.#crowded.add(load)
    request.answer.once('close', () => {
      if (load.waiting.delete(waiter)) settle(false)
    })
    return promise
  }

  #leave(answer: Answer, { load, weight, unread }: Entry): void {
    if (!this.#underWay.delete(answer)) return
    const wasFull = this.#unread >= this.#limits.maxUnreadBytes
    load.weight -= weight
    load.unread -= unread
    this.#unread -= unread
    if (this.#crowded.size === 0) return
    this.#admit(load)
    if (wasFull) for (const other of this.#crowded) this.#admit(other)
  }

  #admit(load: Load): void {
    for (const waiter of load.waiting) {
      if (this.#fullLimit(load)) return
      load.waiting.delete(waiter)
      this.#enter(load, waiter)
      waiter.settle(true)
    }
    this.#crowded.delete(load)
  }

  #sweepLater(): void {
    this.#sweep ??= this.#clock.setTimer(
      this.#limits.unreadTimeout / sweepsPerTimeout,
      () => {
        this.#sweep = undefined
        for (const [answer, entry] of this.#underWay) this.#look(answer, entry)
        if (this.#underWay.size > 0) this.#sweepLater()
      },
      { background: true },
    )
  }

  #look(answer: Answer, entry: Entry): void {
    const nowMs = this.#clock.monotonic()
    const { writableLength } = answer
    if (writableLength < smallBytes || writableLength !== entry.seenLength) {
      entry.seenLength = writableLength
      entry.seenMs = nowMs
    } else if (nowMs - entry.seenMs >= this.#limits.unreadTimeout) {
      this.#reports.reached('unreadTimeout', entry.connection, { bytes: writableLength })
      answer.destroy()
    }
  }
}
