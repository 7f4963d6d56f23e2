import type { Clock } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import { isMeant, type ObservedRequest, type RequestFilter } from './request-filter.ts'

/** Records one request as it came over the network. */
export interface JournalEntry extends ObservedRequest {
  /** Counts the requests from 1, in the order of their arrival. */
  id: number
  /** Tells when the request came, in RFC 3339 with microseconds. */
  at: string
  userAgent?: string
  /** Holds the status code of the answer; absent while the request is under way, 0 if there was no answer. */
  code?: number
  /** Counts the milliseconds from the request to the end of the answer. */
  durationMs?: number
  /** Describes the fault that struck the request. */
  fault?: string
}

export type JournalListener = (entry: JournalEntry) => void

/**
 * The last requests, in the order in which they came, and news of more. It keeps nothing until it is told how many to
 * keep.
 */
export class Journal {
  readonly #clock: Clock
  readonly #listeners = new Set<JournalListener>()
  #changed: () => void = () => {}
  #entries: JournalEntry[] = []
  #kept = 0
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back when requests begin or cease to be recorded. */
  whenChanged(callback: () => void): void {
    this.#changed = callback
  }

  /** True while requests are recorded. */
  get isOpen(): boolean {
    return this.#kept > 0 || this.#listeners.size > 0
  }

  get kept(): number {
    return this.#kept
  }

  /** Sets how many entries to keep from now on; 0 discards all entries. */
  keep(count: number): void {
    this.#kept = count
    this.#trim(count)
    this.#changed()
  }

  entries(filter: RequestFilter = {}): JournalEntry[] {
    return this.#entries.filter((entry) => isMeant(filter, entry))
  }

  clear(): void {
    this.#entries = []
  }

  /**
   * Calls the listener for each request when it begins, and again when it has been answered. Returns a function that
   * stops this.
   */
  listen(listener: JournalListener): () => void {
    this.#listeners.add(listener)
    this.#changed()
    return () => {
      this.#listeners.delete(listener)
      this.#changed()
    }
  }

  /** Tells the listeners of a request that another server has recorded. */
  relay(entry: JournalEntry): void {
    this.#tell(entry)
  }

  begin(request: ObservedRequest & { userAgent?: string }): JournalEntry {
    const entry: JournalEntry = { id: ++this.#count, at: toMicroTime(this.#clock.now()), ...request }
    if (this.#kept > 0) {
      this.#entries.push(entry)
      // A tenth at a time, so that dropping costs nothing each.
      if (this.#entries.length > this.#kept * 1.1 + 1) this.#trim(this.#kept)
    }
    this.#tell(entry)
    return entry
  }

  /** Completes the entry of a request. The code 0 stands for no answer. */
  end(entry: JournalEntry, code: number, durationMs: number): void {
    entry.code = code
    entry.durationMs = Math.round(durationMs * 1000) / 1000
    this.#tell(entry)
  }

  #trim(count: number): void {
    this.#entries = count === 0 ? [] : this.#entries.slice(-count)
  }

  #tell(entry: JournalEntry): void {
    for (const listener of this.#listeners) listener(entry)
  }
}
