import type { Clock } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import { isMeant, type ObservedRequest, type RequestFilter } from './request-filter.ts'

/** Records one request as it came over the network. */
export interface JournalEntry extends ObservedRequest {
  /** Counted from 1 in the order in which they came. */
  id: number
  /** RFC 3339 with microseconds. */
  at: string
  userAgent?: string
  /** Of the answer; absent while the request is under way, 0 when there was none. */
  code?: number
  /** Milliseconds from the request to the end of the answer. */
  durationMs?: number
  /** What was done to it on purpose. */
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
  #entries: JournalEntry[] = []
  #kept = 0
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether requests are recorded. */
  get isOpen(): boolean {
    return this.#kept > 0 || this.#listeners.size > 0
  }

  get kept(): number {
    return this.#kept
  }

  /** How many entries to keep from now on; 0 forgets them all. */
  keep(count: number): void {
    this.#kept = count
    this.#trim(count)
  }

  entries(filter: RequestFilter = {}): JournalEntry[] {
    return this.#entries.filter((entry) => isMeant(filter, entry))
  }

  clear(): void {
    this.#entries = []
  }

  /** Told of each request when it begins, and again when it has been answered. Returns how to stop that. */
  listen(listener: JournalListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A request begins. */
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

  /** It is over; `code` 0: without an answer. */
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
