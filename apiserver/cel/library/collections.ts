/** Lists, sets, maps under construction, and optionals. */

import { TRAVERSAL } from '../cost-units.ts'
import { CelError, noSuchOverload } from '../errors.ts'
import { charge } from '../meter.ts'
import type { Signature } from '../overloads.ts'
import { compare, Duration, equal, mapKey, Optional, StructValue, Timestamp, Uint } from '../values.ts'
import { int } from './numbers.ts'

const COMPARABLE = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes']
const ordered = (left: unknown, right: unknown): number => compare(left, right) ?? 0

const each = (types: readonly string[], signature: (type: string) => string, run: Signature[1]): Signature[] =>
  types.map((type) => [signature(type), run])

function extreme(name: string, sign: number): Signature[1] {
  return (list: unknown[]) => {
    if (list.length === 0) throw new CelError(`${name} called on empty list`)
    return list.reduce((best, item) => (ordered(item, best) * sign > 0 ? item : best))
  }
}
const ZEROS = { int: 0n, uint: new Uint(0n), double: 0, duration: new Duration(0n) }
function plus(left: unknown, right: unknown): unknown {
  if (typeof left === 'bigint' && typeof right === 'bigint') return int(left + right)
  if (typeof left === 'number' && typeof right === 'number') return left + right
  if (left instanceof Uint && right instanceof Uint) return new Uint(left.value + right.value)
  if (left instanceof Duration && right instanceof Duration) return new Duration(left.nanos + right.nanos)
  throw noSuchOverload()
}
/** The items decide what they are, since the type of a list may not say it; an empty list has the sum of its type. */
const sum =
  (zero: unknown): Signature[1] =>
  (list: unknown[]) => {
    const [first] = list
    if (first === undefined) return zero
    return plus(
      Object.values(ZEROS).find((value) => typeof value === typeof first && value.constructor === first?.constructor),
      list.reduce(plus),
    )
  }

function slice(list: unknown[], start: bigint, end: bigint): unknown[] {
  if (start < 0n || end < 0n) throw new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`)
  if (start > end)
    throw new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`)
  if (end > list.length) throw new CelError(`cannot slice(${start}, ${end}), list is length ${list.length}`)
  return list.slice(Number(start), Number(end))
}
function flatten(list: unknown[], depth = 1n): unknown[] {
  if (depth < 0n) throw new CelError('level must be non-negative')
  const flat: unknown[] = []
  const add = (items: unknown[], level: bigint): void => {
    for (const item of items) {
      charge(2 * TRAVERSAL)
      if (Array.isArray(item) && level > 0n) add(item, level - 1n)
      else flat.push(item)
    }
  }
  add(list, depth)
  return flat
}
function distinct(list: unknown[]): unknown[] {
  const found: unknown[] = []
  for (const item of list) if (!found.some((other) => equal(item, other))) found.push(item)
  return found
}
function sorted(list: unknown[], keys: unknown[]): unknown[] {
  const order = keys.map((_, index) => index).sort((left, right) => ordered(keys[left], keys[right]) || left - right)
  return order.map((index) => list[index])
}
function range(count: bigint): bigint[] {
  return Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index))
}

const holds = (list: unknown[], item: unknown): boolean => list.some((other) => equal(item, other))
const containsAll = (list: unknown[], items: unknown[]): boolean => items.every((item) => holds(list, item))

/** Changes the map that a macro builds up. */
function insert(map: Map<unknown, unknown>, key: unknown, value: unknown): Map<unknown, unknown> {
  const id = mapKey(key)
  if (map.has(id)) throw new CelError(`insert failed: key ${String(id)} already exists`)
  return map.set(id, value)
}
function insertAll(map: Map<unknown, unknown>, entries: Map<unknown, unknown>): Map<unknown, unknown> {
  for (const [key, value] of entries) insert(map, key, value)
  return map
}

function isZero(value: unknown): boolean {
  if (value === null || value === '' || value === 0 || value === 0n || value === false) return true
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  if (value instanceof Map) return value.size === 0
  if (value instanceof StructValue) return value.names().length === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof Timestamp) return value.nanos === -62135596800_000_000_000n
  if (value instanceof Optional) return !value.present
  return false
}
function valueIn(optional: Optional): unknown {
  if (!optional.present) throw new CelError('optional.none() dereference')
  return optional.value
}
const unwrap = (list: Optional[]): unknown[] => list.filter(({ present }) => present).map(({ value }) => value)

export const COLLECTIONS: readonly Signature[] = [
  ...each(
    COMPARABLE,
    (type) => `list<${type}>.isSorted(): bool`,
    (list: unknown[]) => list.every((item, index) => index === 0 || ordered(list[index - 1], item) <= 0),
  ),
  ...Object.entries(ZEROS).map(([type, zero]): Signature => [`list<${type}>.sum(): ${type}`, sum(zero)]),
  ...each(COMPARABLE, (type) => `list<${type}>.max(): ${type}`, extreme('max', 1)),
  ...each(COMPARABLE, (type) => `list<${type}>.min(): ${type}`, extreme('min', -1)),
  [
    'list<A>.indexOf(A): int',
    (list: unknown[], item: unknown) => BigInt(list.findIndex((other) => equal(other, item))),
  ],
  [
    'list<A>.lastIndexOf(A): int',
    (list: unknown[], item: unknown) => BigInt(list.findLastIndex((other) => equal(other, item))),
  ],
  ['list<A>.slice(int, int): list<A>', slice],
  ['list<list<A>>.flatten(): list<A>', flatten],
  ['list<dyn>.flatten(int): list<dyn>', flatten],
  ...COMPARABLE.flatMap((type): Signature[] => [
    [`list<${type}>.sort(): list<${type}>`, (list: unknown[]) => sorted(list, list)],
    [`list<A>.@sortByAssociatedKeys(list<${type}>): list<A>`, sorted],
  ]),
  ['lists.range(int): list<int>', range],
  ['list<A>.reverse(): list<A>', (list: unknown[]) => list.toReversed()],
  ['list<A>.distinct(): list<A>', distinct],
  ['sets.contains(list<A>, list<A>): bool', containsAll],
  [
    'sets.equivalent(list<A>, list<A>): bool',
    (left: unknown[], right: unknown[]) => containsAll(left, right) && containsAll(right, left),
  ],
  [
    'sets.intersects(list<A>, list<A>): bool',
    (left: unknown[], right: unknown[]) => right.some((item) => holds(left, item)),
  ],
  ['cel.@mapInsert(map<K, V>, K, V): map<K, V>', insert],
  ['cel.@mapInsert(map<K, V>, map<K, V>): map<K, V>', insertAll],
  ['optional.of(V): optional<V>', (value: unknown) => new Optional(value)],
  [
    'optional.ofNonZeroValue(V): optional<V>',
    (value: unknown) => (isZero(value) ? Optional.none : new Optional(value)),
  ],
  ['optional.none(): optional<V>', () => Optional.none],
  ['optional<V>.value(): V', valueIn],
  ['optional<V>.hasValue(): bool', ({ present }: Optional) => present],
  ['optional<V>.or(optional<V>): optional<V>', (first: Optional, second: Optional) => (first.present ? first : second)],
  ['optional<V>.orValue(V): V', (first: Optional, second: unknown) => (first.present ? first.value : second)],
  ['list<V>.first(): optional<V>', (list: unknown[]) => (list.length === 0 ? Optional.none : new Optional(list[0]))],
  ['list<V>.last(): optional<V>', (list: unknown[]) => (list.length === 0 ? Optional.none : new Optional(list.at(-1)))],
  ['optional.unwrap(list<optional<V>>): list<V>', unwrap],
  ['list<optional<V>>.unwrapOpt(): list<V>', unwrap],
]
