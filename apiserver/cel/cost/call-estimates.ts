/**
 * Estimates what a call costs at most, and how large its result is. Upstream: EstimateCallCost of
 * k8s.io/apiserver/pkg/cel/library/cost.go, functionCost of cel-go's checker/cost.go, ext/lists.go and ext/sets.go.
 */

import { LIST, REGEX, TRAVERSAL } from '../cost-units.ts'
import { type CelType, isSame } from '../types.ts'
import type { EstimatedCall, Operand, Surroundings } from './estimated-call.ts'
import { add, addSizes, fixed, MAX, type Size, scaled, times, timesSizes, UNKNOWN } from './ranges.ts'

interface Estimate {
  cost: number
  /** undefined: it says nothing of the result. */
  size?: Size
}
/** undefined: a call costs 1. */
type CallEstimator = (call: EstimatedCall) => Estimate | undefined

const sizeOf = (operand: Operand | undefined): Size => operand?.size ?? UNKNOWN
const reading = (size: Size): Estimate => ({ cost: scaled(size.max, TRAVERSAL) })

const readsArgument: CallEstimator = ({ args }) => reading(sizeOf(args[0]))
const keepsTarget: CallEstimator = ({ target }) => target && { ...reading(sizeOf(target)), size: sizeOf(target) }
const isText = ({ kind }: CelType): boolean => kind === 'string' || kind === 'bytes'

/** The size of the items of a list; undefined: it is none. */
function itemSize({ type, path }: Operand, estimator: Surroundings): Size | undefined {
  if (type.params.length === 0) return undefined
  return (path.length === 0 ? undefined : estimator.declaredSize([...path, '@items'])) ?? UNKNOWN
}

const traversesList: CallEstimator = ({ target, estimator }) => {
  if (target === undefined) return undefined
  const items = itemSize(target, estimator)
  if (items === undefined) return reading(sizeOf(target))
  const each = isText(target.type.params[0]!) ? add(1, scaled(items.max, TRAVERSAL)) : 1
  return { cost: times(sizeOf(target).max, each) }
}

const replace: CallEstimator = ({ target, args }) => {
  if (target === undefined || args.length < 2) return undefined
  const size = sizeOf(target)
  const from = sizeOf(args[0])
  const to = sizeOf(args[1])
  const count = fixed(0)
  const kept = fixed(0)
  if (from.min === 0) {
    count.max = size.max < MAX ? size.max + 1 : size.max
    kept.max = size.max
  } else if (to.max <= from.min) kept.max = size.max
  else count.max = Math.ceil(size.max / from.min)
  if (from.max === 0) {
    count.min = size.min < MAX ? size.min + 1 : size.min
    kept.min = size.min
  } else if (from.max <= to.min) kept.min = size.min
  else count.min = Math.ceil(size.min / from.max)
  return { cost: scaled(size.max, 2 * TRAVERSAL), size: addSizes(timesSizes(count, to), kept) }
}

const literalOf = (operand: Operand | undefined): unknown =>
  operand?.expr.kind === 'literal' ? operand.expr.value : undefined
/** A literal int as an unsigned number. */
const intOf = (operand: Operand | undefined, otherwise: number): number => {
  const value = literalOf(operand)
  return typeof value === 'bigint' ? Math.max(0, Number(value)) : otherwise
}

const split: CallEstimator = ({ target, args }) => {
  if (target === undefined) return undefined
  const limit = literalOf(args[1])
  const max = typeof limit !== 'bigint' ? sizeOf(target).max : limit < 0n ? MAX : Number(limit)
  return { cost: scaled(sizeOf(target).max, 2 * TRAVERSAL), size: { min: 0, max } }
}

const join: CallEstimator = ({ target, args, estimator }) => {
  if (target === undefined) return undefined
  const list = sizeOf(target)
  const items = itemSize(target, estimator)
  let size = items === undefined ? fixed(0) : timesSizes(list, items)
  if (args.length > 0) {
    const separators = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) }
    size = addSizes(size, timesSizes(sizeOf(args[0]), separators))
  }
  return { ...reading(size), size }
}

const patternCost = (text: Size, pattern: Size): number =>
  times(scaled(add(text.max, 1), TRAVERSAL), scaled(pattern.max, REGEX))
const find: CallEstimator = ({ target, args }) =>
  target && {
    cost: patternCost(sizeOf(target), sizeOf(args[0])),
    size: { min: 0, max: sizeOf(target).max },
  }

/** Addresses have 4 to 16 bytes, each of which is compared twice. */
const ADDRESS = 16
const ADDRESSES = scaled(2 * ADDRESS, TRAVERSAL)
const textArgument = ({ params, args }: EstimatedCall): number =>
  params[1]?.kind === 'string' ? scaled(sizeOf(args[0]).max, TRAVERSAL) : 0

const LARGEST_FORMAT = 128
const equality: CallEstimator = ({ args }) => {
  const [left, right] = args
  const special = isSame(left!.type, right!.type) ? EQUALITIES[left!.type.name] : undefined
  if (special !== undefined && left!.type.kind === 'opaque') return special(right!)
  const least = Math.min(sizeOf(left).max, sizeOf(right).max)
  return { cost: scaled(least, TRAVERSAL) }
}
const nominal = (): Estimate => ({ cost: 1 })
const EQUALITIES: Record<string, (right: Operand) => Estimate> = {
  'net.IP': nominal,
  'net.CIDR': nominal,
  'kubernetes.Quantity': nominal,
  'kubernetes.Semver': nominal,
  'kubernetes.NamedFormat': () => reading(fixed(64)),
  'kubernetes.URL': ({ size }) => reading(size ?? fixed(1)),
}
/** Texts and bytes alone have a cost by their size. */
const comparison: CallEstimator = ({ params, args }) =>
  isText(params[0]!) ? { cost: scaled(Math.min(sizeOf(args[0]).max, sizeOf(args[1]).max), TRAVERSAL) } : undefined

const concatenation: CallEstimator = ({ params, args, estimator, expr }) => {
  const [left] = params
  if (left!.kind !== 'list' && !isText(left!)) return undefined
  const size = addSizes(sizeOf(args[0]), sizeOf(args[1]))
  estimator.uniteEntries(expr, args[0]!.expr, args[1]!.expr)
  return left!.kind === 'list' ? { cost: 1, size } : { ...reading(size), size }
}

const made = (size: Size, each = 1): Estimate => ({ cost: add(scaled(size.max, each), 1 + LIST), size })
const pairs = (list: Operand | undefined, each = 2): Estimate => made(timesSizes(sizeOf(list), sizeOf(list)), each)
const sorting = (list: Operand | undefined, items: CelType | undefined): Estimate =>
  pairs(list, items !== undefined && isText(items) ? 2 + TRAVERSAL : 2)
const slice: CallEstimator = ({ target, args }) => {
  const end = intOf(args[1], sizeOf(target).max)
  const length = end - intOf(args[0], 0)
  return made(fixed(length < 0 ? MAX + length : length))
}
const sets =
  (factor: number): CallEstimator =>
  ({ args }) => ({ cost: add(scaled(times(sizeOf(args[0]).max, sizeOf(args[1]).max), factor), 1) })

const ESTIMATES: Record<string, CallEstimator> = {
  'isSorted sum max min indexOf lastIndexOf': traversesList,
  'url jsonpatch.escapeKey': ({ args }) => ({ ...reading(sizeOf(args[0])), size: sizeOf(args[0]) }),
  'lowerAscii upperAscii substring trim': keepsTarget,
  replace,
  split,
  join,
  'find findAll': find,
  'cidr isIP isCIDR quantity isQuantity semver isSemver startsWith endsWith': readsArgument,
  ip: ({ target, args }) => (target === undefined ? reading(sizeOf(args[0])) : undefined),
  'ip.isCanonical': ({ args }) => ({ cost: scaled(sizeOf(args[0]).max, 2 * TRAVERSAL) }),
  containsIP: (call) => ({ cost: add(ADDRESSES, textArgument(call)) }),
  containsCIDR: (call) => ({ cost: add(ADDRESSES + scaled(ADDRESS, TRAVERSAL) + 1, textArgument(call)) }),
  validate: ({ args }) => ({ cost: scaled(reading(sizeOf(args[0])).cost, LARGEST_FORMAT * REGEX) }),
  '_==_': equality,
  '_!=_': ({ args }) => ({ cost: scaled(Math.min(sizeOf(args[0]).max, sizeOf(args[1]).max), TRAVERSAL) }),
  '_<_ _<=_ _>_ _>=_': comparison,
  '_+_': concatenation,
  format: ({ target, params }) => (params[0]?.kind === 'string' && target ? reading(sizeOf(target)) : undefined),
  bytes: ({ params, args }) => {
    if (params[0]?.kind !== 'string') return undefined
    const { min, max } = sizeOf(args[0])
    return { ...reading({ min, max }), size: { min, max: Math.min(MAX, 4 * max) } }
  },
  string: ({ params, args }) => {
    if (params[0]?.kind !== 'bytes') return undefined
    const { min, max } = sizeOf(args[0])
    return { ...reading({ min, max }), size: { min: Math.floor(min / 4), max } }
  },
  // For an unknown size, twice as much and 2 is nothing in 64 bits.
  'strings.quote': ({ args }) => {
    const { min, max } = sizeOf(args[0])
    return { ...reading({ min, max }), size: { min: min + 2, max: max === MAX ? 0 : 2 * max + 2 } }
  },
  '@in': ({ params, args }) => (params[1]?.kind === 'list' ? { cost: sizeOf(args[1]).max } : undefined),
  matches: ({ target, args }) => target && { cost: patternCost(sizeOf(target), sizeOf(args[0])) },
  contains: ({ target, args }) =>
    target && { cost: times(scaled(sizeOf(target).max, TRAVERSAL), scaled(sizeOf(args[0]).max, TRAVERSAL)) },
  slice,
  flatten: ({ target, args }) => made(sizeOf(target), args.length === 0 ? 1 : intOf(args[0], MAX)),
  'lists.range': ({ args }) => made(fixed(intOf(args[0], MAX))),
  reverse: ({ target }) => made(sizeOf(target)),
  distinct: ({ target }) => pairs(target),
  sort: ({ target, params }) => sorting(target, params[0]?.params[0]),
  '@sortByAssociatedKeys': ({ args, params }) => sorting(args[0], params[1]?.params[0]),
  'sets.contains sets.intersects': sets(1),
  'sets.equivalent': sets(2),
}
const byName = new Map(
  Object.entries(ESTIMATES).flatMap(([names, estimate]) => names.split(' ').map((name) => [name, estimate])),
)

export const estimateCall = (call: EstimatedCall): Estimate => byName.get(call.name)?.(call) ?? { cost: 1 }
