import type { Clock, Timer } from '../clock/clock.ts'
import { kebab } from '../config/option.ts'
import type { Logger } from '../log/log.ts'
import type { Family } from '../metrics/exposition.ts'

/** Holds the part of a row of a table of limits that reports need. */
export interface Limit {
  /** Names what is bounded: `connections of all clients`. */
  what: string
  /** Says what happens beyond the limit: `the oldest is closed`. */
  beyond: string
  /** Reached in the course of ordinary work: logged as information. Default: as a warning. */
  isOrdinary?: boolean
}

export interface Subject {
  /** Lines of one key are limited together: an address, a container. */
  key: string
  /** Holds the fields of the log line. */
  fields: object
}

/**
 * In this time, each limit and key gets one log line, and one more that says how often the limit was reached meanwhile.
 */
const quietMs = 10_000
/** Keys beyond so many in that time have one line together. */
const maxKeys = 1_000

interface Entry {
  name: string
  subject: Subject
  /** Counts the times that are not logged yet. */
  leftOut: number
}

/** Counts how often each limit was reached, and logs the client. Costs nothing before. */
export class ReachedLimits<Name extends string> {
  readonly #table: Readonly<Record<Name, Limit>>
  readonly #clock: Clock
  readonly #log: Logger
  readonly #counts = new Map<Name, number>()
  readonly #entries = new Map<string, Entry>()
  #others = 0
  #timer: Timer | undefined

  /** `clock`: the machine's. */
  constructor(table: Readonly<Record<Name, Limit>>, { clock, log }: { clock: Clock; log: Logger }) {
    this.#table = table
    this.#clock = clock
    this.#log = log
  }

  add(name: Name, subject: Subject): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    const key = `${name} ${subject.key}`
    const entry = this.#entries.get(key)
    if (entry) entry.leftOut++
    else if (this.#entries.size >= maxKeys) this.#others++
    else {
      this.#entries.set(key, { name, subject, leftOut: 0 })
      this.#write(name, subject.fields)
    }
    this.#timer ??= this.#clock.setTimer(quietMs, () => this.#summarize(), { background: true })
  }

  families(): Family[] {
    return [
      {
        name: 'kubestage_limits_reached_total',
        type: 'counter',
        help: 'How often a limit was reached, by the name of its flag.',
        samples: (Object.keys(this.#table) as Name[]).map((name) => ({
          labels: { limit: kebab(name) },
          value: this.#counts.get(name) ?? 0,
        })),
      },
    ]
  }

  close(): void {
    this.#timer?.cancel()
  }

  #summarize(): void {
    this.#timer = undefined
    for (const { name, subject, leftOut } of this.#entries.values()) {
      if (leftOut > 0) this.#write(name as Name, { ...subject.fields, times: leftOut })
    }
    if (this.#others > 0) this.#log.warn({ times: this.#others }, 'limits reached by further clients')
    this.#entries.clear()
    this.#others = 0
  }

  #write(name: Name, fields: object): void {
    const { what, beyond, isOrdinary } = this.#table[name]
    const line = `limit reached: ${what}; ${beyond}`
    this.#log[isOrdinary ? 'info' : 'warn']({ limit: kebab(name), ...fields }, line)
  }
}
