import { isMap } from '../../shared/api/json/json-map.ts'
import { badRequest, notFound } from '../../shared/api/status/status-errors.ts'
import { durationMs } from '../../shared/config/option-types.ts'
import { traitsOf } from '../kind/subresource-traits.ts'
import { Chance } from './chance.ts'
import { filterFields, isMeant, type ObservedRequest, parseFilter, type RequestFilter } from './request-filter.ts'

/** Says what happens to a matching request: one effect, or a delay together with one other effect. */
export interface FaultEffect {
  /** Answers with this code, or with a Status of these fields. */
  status?: number | { code: number; reason?: string; message?: string; retryAfterSeconds?: number }
  /** Delays the request: `250ms`, `2s`. */
  delay?: string
  /** Cuts the connection (over HTTP/2: the stream) before an answer. */
  reset?: boolean
  /** Serves a watch, and cuts it after this time: `1s`. */
  dropWatch?: string
  /** Answers gets and lists as a server that lags: from before this many writes to what is read. */
  stale?: number
}

/** Says which requests fail, how often, and how. */
export interface FaultRule extends RequestFilter {
  /**
   * Says how likely the fault strikes a matching request, from 0 to 1 (default). The n-th request of a user for the
   * same thing fares alike in every run.
   */
  probability?: number
  /** Seeds the chance; 1 by default. */
  seed?: number
  /** Ends the fault after it has struck this often. Without it the fault stays. */
  times?: number
  /** Says what happens to the request. */
  then: FaultEffect
}

/** Describes a fault that has been added. */
export interface Fault extends FaultRule {
  id: number
  /** Counts how often the fault has struck. */
  hits: number
}

interface Active {
  fault: Fault
  chance: Chance
}

const ruleFields: readonly string[] = [...filterFields, 'probability', 'seed', 'times', 'then']
const effectFields: readonly string[] = ['status', 'delay', 'reset', 'dropWatch', 'stale']

/** Holds the faults that clients have added. If several rules match a request, the first that strikes counts. */
export class Faults {
  readonly #active = new Map<number, Active>()
  #count = 0
  #changed: () => void = () => {}

  /** Calls back when faults are added or removed. */
  whenChanged(callback: () => void): void {
    this.#changed = callback
  }

  get size(): number {
    return this.#active.size
  }

  list(): Fault[] {
    return [...this.#active.values()].map(({ fault }) => ({ ...fault }))
  }

  /** Throws a StatusError (400) that says what is wrong with the rule. */
  add(given: FaultRule): Fault {
    const rule = checkRule(given)
    const fault: Fault = { id: ++this.#count, ...rule, hits: 0 }
    this.#active.set(fault.id, { fault, chance: new Chance(rule.seed ?? 1) })
    this.#changed()
    return { ...fault }
  }

  /** Throws NotFound if no fault has this ID. */
  remove(id: number): void {
    if (!this.#active.delete(id)) throw notFound({ group: 'kubestage.dev', plural: 'faults' }, String(id))
    this.#changed()
  }

  clear(): void {
    this.#active.clear()
    this.#changed()
  }

  /** Returns the effect on the request; undefined if no fault strikes it. */
  strike(request: ObservedRequest): FaultEffect | undefined {
    for (const { fault, chance } of this.#active.values()) {
      const { probability = 1, times = Number.POSITIVE_INFINITY, then } = fault
      if (fault.hits >= times || !isMeant(fault, request) || !canStrike(then, request)) continue
      if (probability < 1 && chance.next(asked(request)) >= probability) continue
      fault.hits++
      return then
    }
    return undefined
  }
}

/** The query does not count: it may hold revisions, which depend on what else has happened. */
const asked = ({ verb, user, path }: ObservedRequest): string => `${verb} ${user} ${path.split('?', 1)[0]}`

/** A fault of watches or reads does nothing to other requests, and is not spent on them. */
function canStrike({ dropWatch, stale, ...others }: FaultEffect, { verb, subresource }: ObservedRequest): boolean {
  return (
    Object.keys(others).length > 0 ||
    (dropWatch !== undefined && verb === 'watch') ||
    (stale !== undefined && isRead(verb) && (subresource === undefined || traitsOf(subresource).canBeStale === true))
  )
}
const isRead = (verb: string): boolean => verb === 'get' || verb === 'list'

function checkRule(given: FaultRule): FaultRule {
  if (!isMap(given)) throw badRequest('a fault is a map of fields')
  const { probability, seed, times, then } = given
  for (const field of Object.keys(given)) {
    if (!ruleFields.includes(field)) throw badRequest(`unknown field "${field}"; a fault has ${ruleFields.join(', ')}`)
  }
  if (probability !== undefined && !(Number(probability) >= 0 && Number(probability) <= 1)) {
    throw badRequest(`probability must be from 0 to 1, not ${JSON.stringify(probability)}`)
  }
  checkCount('seed', seed, 0)
  checkCount('times', times, 1)
  checkEffect(then)
  return { ...given, ...parseFilter({ ...given }) }
}

function checkEffect(then: FaultEffect): void {
  const fields = isMap(then) ? Object.keys(then) : []
  if (fields.length === 0 || fields.some((field) => !effectFields.includes(field))) {
    throw badRequest(`then must be a map with one of ${effectFields.join(', ')}`)
  }
  const { status, delay, dropWatch, stale } = then
  for (const [field, text] of Object.entries({ delay, dropWatch })) {
    if (text === undefined) continue
    try {
      durationMs(text)
    } catch (error) {
      throw badRequest(`${field} ${(error as Error).message}`)
    }
  }
  checkCount('stale', stale, 1)
  const code = typeof status === 'object' ? status?.code : status
  if (status !== undefined && !(Number.isInteger(code) && Number(code) >= 400 && Number(code) <= 599)) {
    throw badRequest('status must be a code from 400 to 599, or a map with such a code')
  }
}

function checkCount(field: string, value: unknown, min: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= min)) return
  throw badRequest(`${field} must be a whole number from ${min} on, not ${JSON.stringify(value)}`)
}
