import { isNamespaceGoing } from '../api/namespace-going.ts'
import { isStatus } from '../api/status/status-error.ts'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../log/log.ts'

/** A loop gives no other warning for this long. */
const quietMs = 60_000
/** A lost race is ordinary, also several in a row while informers lag; so many take ten seconds. */
const ordinaryInARow = 11
/** Objects beyond so many are not counted. */
const maxObjects = 1_000

export interface LoopFailuresOptions<Key> {
  clock: Clock
  log: Log
  /** Names the loop as upstream does: `deployment-controller`. */
  loop: string
  /** The kind of the objects whose keys fail, or a function that names an object by its key. */
  object: string | ((key: Key) => string)
  /** Says what becomes of the object's work. Default: the loop tries again. */
  outcome?: string
}

export type TellFailure<Key> = (error: unknown, key: Key, inARow?: number) => void

/**
 * Returns the function to call for each failure of a loop. The loop's first failure is a warning at once. Later ones
 * are at most one warning a minute, which says how many they were; warnings name the objects in turn. Each failure is
 * also logged at debug. A race that another writer has won counts only if it was lost many times in a row.
 */
export function tellFailures<Key>(options: LoopFailuresOptions<Key>): TellFailure<Key> {
  const { object } = options
  const nameOf = typeof object === 'string' ? (key: Key) => `${object} ${key}` : object
  const failures = new LoopFailures(options)
  return (error, key, inARow = 1) => failures.add(error, { object: nameOf(key), inARow })
}

class LoopFailures {
  /** The machine's: a cluster's own time may stand still. */
  readonly #clock: Clock
  readonly #log: Log
  readonly #loop: string
  readonly #outcome: string
  #warnedAtMs = Number.NEGATIVE_INFINITY
  /** Objects that warnings have named: others have their turn first. */
  readonly #named = new Set<string>()
  /** The last error of each object that has failed since the last warning. */
  readonly #errors = new Map<string, unknown>()
  #count = 0

  constructor({ clock, log, loop, outcome = 'and tries again' }: Omit<LoopFailuresOptions<never>, 'object'>) {
    this.#clock = clock.machine
    this.#log = log
    this.#loop = loop
    this.#outcome = outcome
  }

  add(error: unknown, { object, inARow }: { object: string; inARow: number }): void {
    this.#log.debug({ err: error, loop: this.#loop, object, inARow }, 'a control loop failed')
    if (isOrdinary(error, inARow)) return
    this.#count += 1
    if (this.#errors.size < maxObjects || this.#errors.has(object)) this.#errors.set(object, error)
    if (this.#clock.monotonic() - this.#warnedAtMs >= quietMs) this.#warn()
  }

  #warn(): void {
    const failed = [...this.#errors]
    const unnamed = failed.find(([name]) => !this.#named.has(name))
    if (!unnamed) this.#named.clear()
    const [object, error] = unnamed ?? failed[0]!
    this.#named.add(object)
    const others = this.#count > 1 ? ` (${this.#count} failures, ${failed.length} objects)` : ''
    this.#log.warn(
      { err: error, loop: this.#loop, object },
      `${this.#loop} failed for ${object}, ${this.#outcome}${others}`,
    )
    this.#warnedAtMs = this.#clock.monotonic()
    this.#errors.clear()
    this.#count = 0
  }
}

function isOrdinary(error: unknown, inARow: number): boolean {
  // A leader's loops cannot write when its term is over; they are about to stop.
  if (error instanceof Error && error.name === 'TermOverError') return true
  const isLostRace = ['Conflict', 'AlreadyExists', 'NotFound', 'Expired'].some((reason) => isStatus(error, reason))
  return (isLostRace || isNamespaceGoing(error)) && inARow < ordinaryInARow
}
