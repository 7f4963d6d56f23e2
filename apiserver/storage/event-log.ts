import { CompactedError } from './storage.ts'

export interface EventLogLimits {
  events: number
  bytes: number
}

/** The recent writes in order, so that watches can resume and lists can look back; bounded in number and in bytes. */
export class EventLog<Event extends { readonly revision: number }> {
  readonly #limits: EventLogLimits
  readonly #sizeOf: (event: Event) => number
  #events: (Event | undefined)[] = []
  /** Entries before this index are empty: their events are forgotten. The entries are dropped together now and then. */
  #start = 0
  #bytes = 0
  #compacted: number

  /** `compacted`: the revision from which on everything is known. `sizeOf`: bytes that only the log keeps alive. */
  constructor(limits: EventLogLimits, compacted: number, sizeOf: (event: Event) => number) {
    this.#limits = limits
    this.#sizeOf = sizeOf
    this.#compacted = compacted
  }

  /** The revision below which nothing is known. */
  get compacted(): number {
    return this.#compacted
  }

  append(event: Event): void {
    this.#events.push(event)
    this.#bytes += this.#sizeOf(event)
    while (this.#bytes > this.#limits.bytes || this.#events.length - this.#start > this.#limits.events) this.#forget()
  }

  /** Returns every event above `revision`, oldest first. */
  after(revision: number): Event[] {
    if (revision < this.#compacted) throw new CompactedError(this.#compacted)
    let low = this.#start
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#events[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return this.#events.slice(low) as Event[]
  }

  /** Forgets how things were below `revision`. */
  compact(revision: number): void {
    while (this.#start < this.#events.length && this.#events[this.#start]!.revision <= revision) this.#forget()
    this.#compacted = Math.max(this.#compacted, revision)
  }

  #forget(): void {
    const event = this.#events[this.#start]!
    this.#events[this.#start++] = undefined
    this.#bytes -= this.#sizeOf(event)
    this.#compacted = event.revision
    if (this.#start > 1024 && this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start)
      this.#start = 0
    }
  }
}
