import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Logger } from '../../../shared/log/log.ts'
import { heapUse, largerHeap } from '../../../shared/memory/heap-use.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import type { Connection } from './client-limits.ts'
import { clientOf } from './client-of.ts'

/** Holds what the log says about a request that did too much at once. */
export interface Watched {
  readonly method?: string
  readonly url?: string
  readonly socket?: Connection
}

export interface WatchdogOptions {
  /** Holds the machine's clock. */
  clock: Clock
  log: Logger
  /** Milliseconds of CPU time that this thread has taken. */
  cpuMs?(): number
  /** Returns the used part of the heap, from 0 to 1. */
  heapUse?(): number
}

/** A turn of the event loop this long counts as a hold: no other request was served in this time. */
const holdMs = 1_000
const tickMs = 250
/** Nothing is looked at after so long without a request. */
const restMs = 1_000
/** /livez reports a hold for so long. */
const reportedMs = 10_000
/** From these parts of the heap on each request looks at it, lists are refused, and all requests that grow it. */
const watchful = 0.6
const fullForLists = 0.8
const full = 0.9

interface Hold {
  heldMs: number
  atMs: number
  by: string
}

/**
 * Sees when the event loop was held by one request, and when the heap is nearly full. A hold counts by CPU time, so
 * that a busy machine is not taken for one. The request is the one whose work began last before: its head or the end of
 * its body was read.
 */
export class Watchdog {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #cpuMs: () => number
  readonly #heapUse: () => number
  #current: Watched = {}
  /** Holds the figures of the last tick; undefined while no request is under way. */
  #seen: { ms: number; cpuMs: number } | undefined
  #begunMs = 0
  #tick: Timer | undefined
  #hold: Hold | undefined
  #holds = 0
  #heap = 0
  readonly #shed = new Map<string, number>()
  #isShedding = false

  constructor({ clock, log, cpuMs = threadCpuMs, heapUse: use = heapUse }: WatchdogOptions) {
    this.#clock = clock
    this.#log = log
    this.#cpuMs = cpuMs
    this.#heapUse = use
  }

  /** Work on a request begins: its head was read, or its body. `ms`: the time, where the caller has just read it. */
  begins(request: Watched, ms = this.#clock.monotonic()): void {
    if (this.#seen) this.#look(ms)
    else this.#watch(ms)
    this.#current = request
    this.#begunMs = ms
  }

  /**
   * Returns whether a request with this verb is refused for lack of memory. Deletes are always allowed: they free
   * memory.
   */
  sheds(verb: string): boolean {
    const isList = verb === 'list'
    if (isList || this.#heap > watchful) this.#heap = this.#heapUse()
    const isFull = this.#heap > (isList ? fullForLists : full) && verb !== 'delete' && verb !== 'deletecollection'
    if (isFull) this.#shed.set(verb, (this.#shed.get(verb) ?? 0) + 1)
    if (isFull && !this.#isShedding) {
      this.#isShedding = true
      const percent = Math.round(this.#heap * 100)
      const now = `the heap is ${percent} % full: lists are refused, and then all but deletes`
      this.#log.warn({ percent }, `${now}; start with ${largerHeap()} for more objects`)
    }
    return isFull
  }

  /** Returns why /livez fails; undefined if it does not. */
  problem(): string | undefined {
    const { heldMs, atMs, by } = this.#hold ?? { heldMs: 0, atMs: Number.NEGATIVE_INFINITY, by: '' }
    const agoMs = this.#clock.monotonic() - atMs
    if (agoMs > reportedMs) return undefined
    return `the event loop was held for ${seconds(heldMs)} s by ${by}, ${seconds(agoMs)} s ago`
  }

  families(): Family[] {
    return [
      {
        name: 'kubestage_event_loop_holds_total',
        type: 'counter',
        help: 'Times that one request kept all others waiting for more than a second.',
        samples: [{ labels: {}, value: this.#holds }],
      },
      {
        name: 'kubestage_requests_shed_total',
        type: 'counter',
        help: 'Requests that were told to come back later because the heap was nearly full.',
        samples: [...this.#shed].map(([verb, value]) => ({ labels: { verb }, value })),
      },
    ]
  }

  close(): void {
    this.#tick?.cancel()
  }

  #watch(ms: number): void {
    this.#seen = { ms, cpuMs: this.#cpuMs() }
    this.#tick = this.#clock.setTimer(tickMs, () => this.#passes(), { background: true })
  }

  #passes(): void {
    const ms = this.#clock.monotonic()
    this.#look(ms)
    this.#heap = this.#heapUse()
    if (this.#heap < fullForLists) this.#isShedding = false
    if (ms - this.#begunMs > restMs) this.#seen = undefined
    else this.#watch(ms)
  }

  /** A tick that is late was kept from coming. */
  #look(ms: number): void {
    const { ms: seenMs, cpuMs } = this.#seen!
    if (ms - seenMs < holdMs) return
    const nowCpuMs = this.#cpuMs()
    const heldMs = Math.min(ms - seenMs, nowCpuMs - cpuMs)
    this.#seen = { ms, cpuMs: nowCpuMs }
    if (heldMs < holdMs) return
    const by = `${this.#current.method} ${this.#current.url?.replace(/\?.*/, '')}`
    this.#holds++
    this.#hold = { heldMs, atMs: ms, by }
    const { socket } = this.#current
    const client = socket && clientOf(socket)
    this.#log.warn({ heldMs: Math.round(heldMs), request: by, client }, 'the event loop was held by one request')
  }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1)

function threadCpuMs(): number {
  // Absent in the oldest Nodes that we work with.
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
