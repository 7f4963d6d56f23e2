/** The types of CEL, and which may stand for which. */

export type Kind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'list'
  | 'map'
  | 'type'
  | 'struct'
  | 'opaque'
  | 'param'

export interface CelType {
  kind: Kind
  /** Names a struct, an opaque type or a parameter; for other types it is the kind. */
  name: string
  /** Holds the item type of a list, the key and value types of a map, or the type inside an optional or a type. */
  params: readonly CelType[]
  fields?: Fields
}
/** The types of a struct's fields by name; undefined: it has no such field. */
export interface Fields {
  get(name: string): CelType | undefined
}

const none: readonly CelType[] = []
const simple = (kind: Kind, name: string = kind): CelType => ({ kind, name, params: none })
export const DYN = simple('dyn')
export const ERROR = simple('error', '!error!')
export const NULL = simple('null')
export const BOOL = simple('bool')
export const INT = simple('int')
export const UINT = simple('uint')
export const DOUBLE = simple('double')
export const STRING = simple('string')
export const BYTES = simple('bytes')
export const TIMESTAMP = simple('timestamp')
export const DURATION = simple('duration')
export const listOf = (item: CelType): CelType => ({ kind: 'list', name: 'list', params: [item] })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', name: 'map', params: [key, value] })
export const typeOf = (type: CelType): CelType => ({ kind: 'type', name: 'type', params: [type] })
export const opaque = (name: string, ...params: CelType[]): CelType => ({ kind: 'opaque', name, params })
export const optionalOf = (type: CelType): CelType => opaque('optional_type', type)
export const param = (name: string): CelType => simple('param', name)
export const struct = (name: string, fields: Fields): CelType => ({
  kind: 'struct',
  name,
  params: none,
  fields,
})

export const isDyn = ({ kind }: CelType): boolean => kind === 'dyn' || kind === 'error'
export const isOptional = ({ kind, name }: CelType): boolean => kind === 'opaque' && name === 'optional_type'
/** Returns the type of an optional's value; any other type is returned unchanged. */
export const unwrapped = (type: CelType): CelType => (isOptional(type) ? type.params[0]! : type)

/** Returns a type as messages show it: `list(string)`, `map(string, int)`. */
export function printType({ kind, name, params }: CelType): string {
  if (params.length === 0) return name
  if (kind === 'type' && params[0]!.kind === 'dyn') return 'type'
  return `${name}(${params.map(printType).join(', ')})`
}

export const isSame = (left: CelType, right: CelType): boolean =>
  left === right ||
  (left.kind === right.kind &&
    left.name === right.name &&
    left.params.length === right.params.length &&
    left.params.every((type, index) => isSame(type, right.params[index]!)))

/** Holds the types that are bound to type parameters so far. */
export type Bindings = Map<string, CelType>

/**
 * Replaces type parameters by the types that are bound to them. Free parameters become `free`, or stay if `free` is
 * absent.
 */
export function substitute(bindings: Bindings, type: CelType, free?: CelType): CelType {
  if (type.kind === 'param') {
    const bound = bindings.get(type.name)
    return bound === undefined ? (free ?? type) : substitute(bindings, bound, free)
  }
  if (type.params.length === 0) return type
  return { ...type, params: type.params.map((inner) => substitute(bindings, inner, free)) }
}

/** Returns whether the types agree pairwise. Adds the bindings that the agreement needs only if all types agree. */
export function areAssignable(bindings: Bindings, left: readonly CelType[], right: readonly CelType[]): boolean {
  const trial = new Map(bindings)
  if (!agreeAll(trial, left, right)) return false
  for (const [name, type] of trial) bindings.set(name, type)
  return true
}
export const isAssignable = (bindings: Bindings, left: CelType, right: CelType): boolean =>
  areAssignable(bindings, [left], [right])

const agreeAll = (bindings: Bindings, left: readonly CelType[], right: readonly CelType[]): boolean =>
  left.length === right.length && left.every((type, index) => agree(bindings, type, right[index]!))

const NULLABLE: ReadonlySet<Kind> = new Set(['null', 'opaque', 'struct', 'timestamp', 'duration'])

function agree(bindings: Bindings, left: CelType, right: CelType): boolean {
  if (right.kind === 'param') {
    const fits = bind(bindings, right, left)
    if (fits !== undefined) return fits
  }
  if (left.kind === 'param') return bind(bindings, left, right) ?? false
  if (isDyn(left) || isDyn(right)) return true
  if (left.kind === 'null') return NULLABLE.has(right.kind)
  if (right.kind === 'null') return NULLABLE.has(left.kind)
  if (left.kind === 'type') return right.kind === 'type'
  return left.kind === right.kind && left.name === right.name && agreeAll(bindings, left.params, right.params)
}

/** Returns whether a parameter may stand for a type; undefined if it may not and stands for nothing yet. */
function bind(bindings: Bindings, parameter: CelType, type: CelType): boolean | undefined {
  if (isSame(parameter, type)) return true
  const bound = bindings.get(parameter.name)
  if (bound !== undefined) {
    if (isSame(bound, type)) return true
    if (!agree(bindings, type, bound)) return false
    const general = mostGeneral(type, bound)
    if (!occurs(bindings, parameter, general)) bindings.set(parameter.name, general)
    return true
  }
  if (occurs(bindings, parameter, type)) return undefined
  bindings.set(parameter.name, type)
  return true
}

function occurs(bindings: Bindings, parameter: CelType, type: CelType): boolean {
  if (type.kind === 'param') {
    if (type.name === parameter.name) return true
    const bound = bindings.get(type.name)
    return bound !== undefined && occurs(bindings, parameter, bound)
  }
  return type.params.some((inner) => occurs(bindings, parameter, inner))
}

/** Returns the more general of two types that agree. */
export const mostGeneral = (left: CelType, right: CelType): CelType => (saysLess(left, right) ? left : right)

function saysLess(left: CelType, right: CelType): boolean {
  if (left.kind === 'dyn' || left.kind === 'param') return true
  if (right.kind === 'dyn' || right.kind === 'param') return false
  if (left.kind !== right.kind) return false
  if (left.kind === 'type') return true
  return (
    left.name === right.name &&
    left.params.length === right.params.length &&
    left.params.every((type, index) => saysLess(type, right.params[index]!))
  )
}
