import type { Journal, JournalEntry } from '../apiserver/instruments/journal.ts'
import { filterFields, isMeant, parseFilter, type RequestFilter } from '../apiserver/instruments/request-filter.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { type Duration, toMs } from './duration.ts'

/** Selects requests that match every given field. */
export interface JournalFilter extends RequestFilter {
  /** Selects requests by the status code of the answer. */
  code?: number
}

/** Says how often something should have happened: an exact number, or bounds. */
export type Count = number | { min?: number; max?: number }

const shownEntries = 20
const patience = '5s'

/**
 * Lists the requests that came to the API server over the network since the start, or since `clear`. The cluster's own
 * client and controllers use no network.
 */
export class ClusterJournal {
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #closing: AbortSignal

  /** `clock` is the machine's clock. An open wait is rejected with the reason of `closing` when `closing` aborts. */
  constructor(journal: Journal, clock: Clock, closing: AbortSignal) {
    this.#journal = journal
    this.#clock = clock
    this.#closing = closing
  }

  /** Returns matching requests in the order of their arrival. A request without a code is still under way. */
  entries(filter: JournalFilter = {}): JournalEntry[] {
    checkFilter(filter)
    return this.#journal.entries(filter).filter((entry) => fits(filter, entry))
  }

  /** Discards all entries. */
  clear(): void {
    this.#journal.clear()
  }

  /**
   * Resolves to the first matching request that has been answered (a watch: that has begun), including past requests.
   * Rejects after the timeout, with the requests that came instead.
   */
  async waitFor(filter: JournalFilter, { timeout = patience }: { timeout?: Duration } = {}): Promise<JournalEntry> {
    const isWanted = (entry: JournalEntry): boolean =>
      isMeant(filter, entry) && fits(filter, entry) && (entry.code !== undefined || entry.verb === 'watch')
    const known = this.entries(filter).find(isWanted)
    if (known) return known
    const closing = this.#closing
    closing.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<JournalEntry>()
    const leave = this.#journal.listen((entry) => {
      if (isWanted(entry)) resolve(entry)
    })
    const timer = this.#clock.setTimer(toMs(timeout), () =>
      reject(new Error(`timed out after ${timeout} waiting for a request with ${show(filter)}; ${this.#whatCame()}`)),
    )
    const close = (): void => reject(closing.reason)
    closing.addEventListener('abort', close)
    try {
      return await promise
    } finally {
      leave()
      timer.cancel()
      closing.removeEventListener('abort', close)
    }
  }

  /** Throws an AssertionError that lists the last requests if the number of matching requests is not as expected. */
  assert(filter: JournalFilter, count: Count = { min: 1 }): void {
    const found = this.entries(filter).length
    const { min = 0, max = Number.POSITIVE_INFINITY } = typeof count === 'number' ? { min: count, max: count } : count
    if (found >= min && found <= max) return
    const wanted = min === max ? min : `${min} to ${max === Number.POSITIVE_INFINITY ? 'any number' : max}`
    const { AssertionError } = process.getBuiltinModule('node:assert') // seldom wanted
    throw new AssertionError({
      message: `expected ${wanted} requests with ${show(filter)}, but there were ${found}; ${this.#whatCame()}`,
      actual: found,
      expected: count,
      operator: 'journal',
    })
  }

  #whatCame(): string {
    const all = this.#journal.entries()
    if (all.length === 0) return 'no request came'
    const last = all.slice(-shownEntries).map(line)
    return `the last ${last.length} of ${all.length} that came:\n${last.join('\n')}`
  }
}

function checkFilter(filter: JournalFilter): void {
  const known = [...filterFields, 'code']
  const unknown = Object.keys(filter).find((field) => !known.includes(field))
  if (unknown !== undefined) throw new Error(`unknown field "${unknown}"; a request has ${known.join(', ')}`)
  parseFilter({ ...filter })
}

const fits = ({ code }: JournalFilter, entry: JournalEntry): boolean => code === undefined || entry.code === code
const show = (filter: JournalFilter): string => JSON.stringify(filter)
const line = ({ id, verb, path, code, user, fault }: JournalEntry): string =>
  `  #${id} ${verb} ${path} → ${code ?? '…'} (${user})${fault ? ` fault: ${fault}` : ''}`
