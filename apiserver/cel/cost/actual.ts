/**
 * Says what a call costs by its values, before it runs. Upstream: k8s.io/apiserver/pkg/cel/library/cost.go and cel-go's
 * interpreter/runtimecost.go, ext/lists.go and ext/sets.go. What upstream makes or reads without counting it costs
 * extra here, so that no evaluation takes all memory or time: long results, and strings that a call reads for nothing.
 */
import { patternCost, patternWeight } from '../../schema/re2.ts'
import { AUTHORIZATION_CHECK, LIST, REGEX, TRAVERSAL } from '../cost-units.ts'
import { Cidr } from '../library/addresses.ts'
import { charge } from '../meter.ts'
import { occurrences } from '../text-search.ts'
import { Optional, StructValue, Uint } from '../values.ts'

// biome-ignore lint/suspicious/noExplicitAny: each takes the values of its function
export type RunCost = (...values: any[]) => number

/** Returns the number of characters, bytes, items, entries or fields of a value; 1 for any other value. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length
  if (value instanceof Map) return value.size
  if (value instanceof StructValue) return value.size
  if (value instanceof Optional && value.present) return sizeOf(value.value)
  return value instanceof Cidr ? Math.ceil(value.prefixLength / 8) : 1
}
const traversal = (value: unknown): number => Math.ceil(sizeOf(value) * TRAVERSAL)
/** A function of cost 1 may read a long string: upstream lets it, and so do we, but not for nothing. */
const readingCost = (value: unknown): number =>
  (typeof value === 'string' || value instanceof Uint8Array) && value.length >= 100 ? value.length / 100 : 0

/** Returns the cost of a call whose function has no cost of its own. */
const plainCost: RunCost = (first, second, third) => 1 + readingCost(first) + readingCost(second) + readingCost(third)

export const comparisonCost = (left: unknown, right: unknown): number =>
  typeof left === 'string' || left instanceof Uint8Array
    ? Math.ceil(Math.min(sizeOf(left), sizeOf(right)) * TRAVERSAL)
    : 1
export const equalityCost = (left: unknown, right: unknown): number =>
  typeof left === 'bigint' || typeof left === 'boolean' || typeof left === 'number' || left instanceof Uint
    ? 1
    : Math.ceil(Math.min(sizeOf(left), sizeOf(right)) * TRAVERSAL)
export const membershipCost = (container: unknown): number => (Array.isArray(container) ? container.length : 1)

function addCost(left: unknown, right: unknown): number {
  if (typeof left === 'string' || left instanceof Uint8Array)
    return Math.ceil((sizeOf(left) + sizeOf(right)) * TRAVERSAL)
  return Array.isArray(left) ? Math.max(1, (left.length + sizeOf(right)) * TRAVERSAL) : 1
}

/** Upstream looks at short texts for nothing. */
const SHORT_TEXT = 0.5
/** Charges while it walks: lists may share their items many times over. */
function chargeTree(value: unknown): void {
  if (typeof value === 'string' || value instanceof Uint8Array)
    charge(Math.max(SHORT_TEXT, Math.floor(value.length * TRAVERSAL)))
  else if (Array.isArray(value)) for (const item of value) chargeTree(item)
  else if (value instanceof Map) for (const [key, item] of value) [chargeTree(key), chargeTree(item)]
  else if (value instanceof StructValue) for (const name of value.names()) chargeTree(value.get(name))
  else charge(1)
}
function treeCost(value: unknown): number {
  chargeTree(value)
  return 0
}
/** Characters of strings, without walking any deeper. */
const lengthOf = (items: readonly unknown[]): number =>
  items.reduce<number>((total, item) => total + (typeof item === 'string' ? item.length : 0), 0)

function patternMatchCost(text: string, pattern: string): number {
  charge(patternWeight(pattern))
  const counted = Math.ceil((1 + text.length) * TRAVERSAL) * Math.ceil(pattern.length * REGEX)
  return Math.max(counted, patternCost(pattern, text.length))
}
/** Twice the text, and what the result has more than it. */
function replaceCost(text: string, from: string, to: string, times = -1n): number {
  const most = times < 0n ? Number.POSITIVE_INFINITY : Number(times)
  charge(Math.ceil(text.length * 2 * TRAVERSAL))
  const count = from === '' ? Math.min(most, text.length + 1) : occurrences(text, from, most).length
  return Math.max(0, count * (to.length - from.length)) * TRAVERSAL
}
const joinCost = (list: unknown[], separator = ''): number => {
  charge(list.length * TRAVERSAL)
  const made = lengthOf(list) + Math.max(0, list.length - 1) * separator.length
  return Math.max(0, Math.ceil(made * 2 * TRAVERSAL) - list.length * TRAVERSAL)
}
/** Each item with each: upstream's worst case. */
function pairs(list: unknown[]): number {
  const [first] = list
  const perPair = 2 + (typeof first === 'string' || first instanceof Uint8Array ? TRAVERSAL : 0)
  return Math.floor(list.length ** 2 * perPair) + 1 + LIST
}
const sliceCost = (list: unknown[], start: unknown, end: unknown): number =>
  1 + LIST + Math.max(0, Math.min(list.length, Number(end) - Number(start)))
const flattenCost = (list: unknown[], depth = 1n): number => list.length * Math.max(1, Number(depth)) + 1 + LIST
const setsCost =
  (times: number): RunCost =>
  (left: unknown[], right: unknown[]) =>
    1 + Math.max(left.length * right.length * times, (left.length + right.length) * TRAVERSAL)
const range: RunCost = (count: bigint) => Math.max(0, Number(count)) + 1 + LIST

/** The cost of making a value of a text, beside reading it: upstream makes it for nothing. */
const parsing =
  (extra: number): RunCost =>
  (value) =>
    traversal(value) + extra
const ADDRESS = 3
function addressesCost(cidr: Cidr, other: unknown): number {
  return Math.ceil(2 * sizeOf(cidr) * TRAVERSAL) + (typeof other === 'string' ? traversal(other) + ADDRESS : 0)
}
function selectorCost(_check: unknown, selector: string): number {
  const requirements = Math.ceil(selector.length * 0.5)
  return LIST + traversal(selector) + requirements * (LIST + 40)
}

const first: RunCost = (value) => traversal(value)
const twice: RunCost = (value) => Math.ceil(sizeOf(value) * 2 * TRAVERSAL)
const ofUrl: RunCost = ({ text }: { text: string }) => 1 + readingCost(text)
const COSTS: Record<string, RunCost> = {
  '_+_': addCost,
  check: () => AUTHORIZATION_CHECK,
  'fieldSelector labelSelector': selectorCost,
  'isSorted sum max min indexOf lastIndexOf': treeCost,
  'lowerAscii upperAscii substring trim jsonpatch.escapeKey startsWith endsWith strings.quote format': first,
  'semver isSemver': (text) => 2 * traversal(text) + 6,
  'quantity isQuantity': parsing(4),
  'cidr isIP isCIDR': parsing(ADDRESS),
  'url isURL': parsing(3),
  ip: (value) => (value instanceof Cidr ? 1 : traversal(value) + ADDRESS),
  'ip.isCanonical': (value) => twice(value) + ADDRESS,
  isGlobalUnicast: () => 3,
  'timestamp duration': (value) => plainCost(value) + (typeof value === 'string' ? 2 : 0),
  containsIP: addressesCost,
  containsCIDR: (cidr, other) => addressesCost(cidr, other) + traversal(cidr) + 1,
  replace: replaceCost,
  split: twice,
  join: joinCost,
  'find findAll matches': patternMatchCost,
  contains: (text: string, part: string) => traversal(text) * traversal(part),
  validate: ({ regexSize }: { regexSize: number }, text: string) =>
    Math.ceil((1 + text.length) * TRAVERSAL) * Math.ceil(regexSize * REGEX),
  'getScheme getHostname getHost getPort getEscapedPath': ofUrl,
  getQuery: ({ text }: { text: string }) => 1 + text.length * TRAVERSAL,
  bytes: (value) => (typeof value === 'string' ? traversal(value) : 1),
  string: (value) => (value instanceof Uint8Array ? traversal(value) : 1),
  'optional.unwrap unwrapOpt': (list: unknown[]) => 1 + list.length * TRAVERSAL,
  'cel.@mapInsert': (_map, entries) => 1 + (entries instanceof Map ? entries.size * TRAVERSAL : 0),
  slice: sliceCost,
  reverse: (list: unknown[]) => list.length + 1 + LIST,
  flatten: flattenCost,
  'lists.range': range,
  'distinct sort': pairs,
  '@sortByAssociatedKeys': (_list, keys: unknown[]) => pairs(keys),
  'sets.contains sets.intersects': setsCost(1),
  'sets.equivalent': setsCost(2),
}
const byName = new Map(Object.entries(COSTS).flatMap(([names, cost]) => names.split(' ').map((name) => [name, cost])))

export const runCost = (name: string): RunCost => byName.get(name) ?? plainCost
