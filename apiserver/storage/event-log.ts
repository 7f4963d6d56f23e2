import { CompactedError, type StorageEvent } from './storage.ts'

export interface EventLogLimits {
  events: number
  bytes: number
}

/** The recent writes in order, so that watches can resume and lists can look back; bounded in number and in bytes. */
export class EventLog {
  readonly #limits: EventLogLimits
  #events: StorageEvent[] = []
  /** Events before this index are forgotten, and dropped together now and then. */
  #start = 0
  #bytes = 0
  #compacted: number

  /** `compacted`: the revision from which on everything is known. */
  constructor(limits: EventLogLimits, compacted: number) {
    this.#limits = limits
    this.#compacted = compacted
  }

  append(event: StorageEvent): void {
    this.#events.push(event)
    this.#bytes += sizeOf(event)
    while (this.#bytes > this.#limits.bytes || this.#events.length - this.#start > this.#limits.events) this.#forget()
  }

  /** Every event above `revision`, oldest first. */
  after(revision: number): StorageEvent[] {
    if (revision < this.#compacted) throw new CompactedError(this.#compacted)
    let low = this.#start
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#events[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return this.#events.slice(low)
  }

  /** Forgets how things were below `revision`. */
  compact(revision: number): void {
    while (this.#start < this.#events.length && this.#events[this.#start]!.revision <= revision) this.#forget()
    this.#compacted = Math.max(this.#compacted, revision)
  }

  #forget(): void {
    const event = this.#events[this.#start++]!
    this.#bytes -= sizeOf(event)
    this.#compacted = event.revision
    if (this.#start > 1024 && this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start)
      this.#start = 0
    }
  }
}

/** The previous value is counted, for only the log still holds it; the new one is in the store as well. */
const sizeOf = (event: StorageEvent): number => (event.previous?.value.length ?? 0) + event.key.length + 100
