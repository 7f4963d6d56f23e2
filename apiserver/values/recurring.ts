import { parseStored, toJson } from '../../shared/api/json/exact-json.ts'
import { deepEqual } from './deep-equal.ts'

const texts = new WeakMap<object, string>()

/**
 * Returns the JSON of a value; undefined for undefined. The JSON of values that a {@link Recurring} or {@link frozenOf}
 * returned is known already.
 */
export function jsonOf(value: unknown): string | undefined {
  return knownJson(value) ?? toJson(value)
}

/** Returns the JSON of a value if the JSON is known already; undefined otherwise. */
export const knownJson = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined

const complete = new WeakMap<object, string>()

/**
 * Notes that a frozen value is a whole member of objects with this schema: decoding and defaults would leave it as it
 * is.
 */
export function noteComplete(value: object, schema: string): void {
  if (Object.isFrozen(value)) complete.set(value, schema)
}

/** Returns whether {@link noteComplete} was called for the value and the schema. */
export const isComplete = (value: unknown, schema: string): boolean =>
  typeof value === 'object' && value !== null && complete.get(value) === schema

/** Limits how many known values one is compared with. More would slow down every value that is like none of them. */
const maxKnown = 4
/** Objects, lists and plain values in one that is kept: a larger one would stay in memory for nothing. */
const maxMembers = 5_000

/**
 * Values that come again and again, such as the specs of pods of one template: each is held once and frozen, so that
 * what was found out about it, its JSON for one, holds for all who have it.
 */
export class Recurring<Value extends object> {
  #known: Value[] = []
  /** Seen once: what does not come again is not worth freezing. */
  #seen: Value[] = []
  /** Where the last two differed: those to come mostly differ there, too, which spares walking to it. */
  #difference: Path = []

  /** The one that says the same, if it has come before; otherwise `value` itself, which then may still be changed. */
  of(value: Value): Value {
    if (texts.has(value)) return value
    for (const known of this.#known) if (this.#isSame(value, known)) return known
    const again = this.#seen.some((seen) => this.#isSame(value, seen))
    if (memberCount(value, maxMembers) > maxMembers) return value
    if (!again) {
      this.#seen = [value, ...this.#seen.slice(0, maxKnown - 1)]
      return value
    }
    const recurring = frozenOf<Value>(toJson(value))
    this.#known = [recurring, ...this.#known.slice(0, maxKnown - 1)]
    return recurring
  }

  #isSame(value: Value, other: Value): boolean {
    const [mine, its] = [memberAt(value, this.#difference), memberAt(other, this.#difference)]
    if (mine !== its && (typeof mine !== 'object' || typeof its !== 'object')) return false
    if (deepEqual(value, other)) return true
    this.#difference = firstDifference(value, other)
    return false
  }
}

/** Counts the values in a value, itself included; stops at about `enough`. */
function memberCount(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const key in value) {
    if (count > enough) break
    count += memberCount((value as Record<string, unknown>)[key], enough - count)
  }
  return count
}

type Path = readonly (string | number)[]

function memberAt(value: unknown, path: Path): unknown {
  let member = value
  for (let step = 0; step < path.length; step++) {
    if (typeof member !== 'object' || member === null) return undefined
    member = (member as Record<string | number, unknown>)[path[step]!]
  }
  return member
}

/** The path to the first member that is not the same in both, of two that differ. */
function firstDifference(a: unknown, b: unknown): Path {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return []
  const [mine, its] = [a as Record<string, unknown>, b as Record<string, unknown>]
  for (const key of [...Object.keys(mine), ...Object.keys(its)]) {
    if (deepEqual(mine[key], its[key])) continue
    // As a number it is found in a list without being read.
    return [Array.isArray(a) ? Number(key) : key, ...firstDifference(mine[key], its[key])]
  }
  return []
}

/** Returns the value of a JSON text, deeply frozen, and remembers the text as its JSON. */
export function frozenOf<Value extends object>(text: string): Value {
  const value = freeze(parseStored(text) as Value)
  texts.set(value, text)
  return value
}

/**
 * Returns the value with a member set, frozen and with its JSON known, as the value itself must be. It shares all other
 * members with the value.
 */
export function frozenWith<Value extends object>(value: Value, member: Partial<Value>): Value {
  const made = Object.freeze({ ...value, ...member })
  texts.set(made, toJson(made))
  return made
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}
