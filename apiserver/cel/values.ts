/**
 * Values of expressions. int is a bigint, double a number, bytes a Uint8Array, a list an array, a map a Map;
 * null, bool and string are JavaScript's own; the rest are the classes of this file and those of the libraries.
 */
import { TRAVERSAL } from './cost-units.ts'
import { noSuchOverload } from './errors.ts'
import { charge } from './meter.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  optionalOf,
  STRING,
  struct,
  TIMESTAMP,
  typeOf,
  UINT,
} from './types.ts'

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}
export class Optional {
  static readonly none = new Optional(undefined)
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
  get present(): boolean {
    return this !== Optional.none
  }
}
export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}
export class Timestamp {
  /** Counts nanoseconds since 1970. */
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
  get date(): Date {
    return new Date(Number(floorDiv(this.nanos, 1_000_000n)))
  }
}
export class TypeValue {
  readonly type: CelType
  constructor(type: CelType) {
    this.type = type
  }
}
/** A value of a type that a library defines is an OpaqueValue. */
export abstract class OpaqueValue {
  abstract readonly typeName: string
  abstract equals(other: this): boolean
}
/** An object of a known type is a StructValue: each field is converted only when it is read. */
export abstract class StructValue {
  abstract readonly type: CelType
  abstract has(field: string): boolean
  /** Returns undefined if the field is not set. */
  get(field: string): unknown {
    return this.has(field) ? this.value(field) : undefined
  }
  protected abstract value(field: string): unknown
  /** Names of the fields that are set. */
  abstract names(): string[]
  /** About how many fields are set. */
  abstract get size(): number
}

/** An object that an expression has made. */
export class MadeObject extends StructValue {
  readonly type: CelType
  readonly fields: ReadonlyMap<string, unknown>

  constructor(type: CelType, fields: ReadonlyMap<string, unknown>) {
    super()
    this.type = type
    this.fields = fields
  }
  get size(): number {
    return this.fields.size
  }
  has(field: string): boolean {
    return this.fields.has(field)
  }
  names(): string[] {
    return [...this.fields.keys()]
  }
  protected value(field: string): unknown {
    return this.fields.get(field)
  }
}

export const floorDiv = (value: bigint, by: bigint): bigint => {
  const quotient = value / by
  return value % by !== 0n && value < 0n !== by < 0n ? quotient - 1n : quotient
}

/** Items of a list that is a set or a map by keys: their order means nothing, and `+` merges by `idOf`. */
export interface KeyedItems {
  isSet: boolean
  /** Returns what tells items apart as the key of a Map. Charges for what it reads. */
  idOf(item: unknown): unknown
}
const keyed = new WeakMap<unknown[], KeyedItems>()
export function withKeys(list: unknown[], items: KeyedItems): unknown[] {
  keyed.set(list, items)
  return list
}
export const keysOf = (list: unknown[]): KeyedItems | undefined => keyed.get(list)

export function typeOfLiteral(value: unknown): CelType {
  return typeOfValue(value)
}

/** The type of a value at run time; what a list holds is dyn. */
export function typeOfValue(value: unknown): CelType {
  switch (typeof value) {
    case 'string':
      return STRING
    case 'bigint':
      return INT
    case 'number':
      return DOUBLE
    case 'boolean':
      return BOOL
  }
  if (value === null) return NULL
  if (Array.isArray(value)) return listOf(DYN)
  if (value instanceof Map) return mapOf(DYN, DYN)
  if (value instanceof StructValue) return value.type
  if (value instanceof Uint8Array) return BYTES
  if (value instanceof Timestamp) return TIMESTAMP
  if (value instanceof Duration) return DURATION
  if (value instanceof Uint) return UINT
  if (value instanceof Optional) return optionalOf(DYN)
  if (value instanceof TypeValue) return typeOf(value.type)
  return value instanceof OpaqueValue ? opaque(value.typeName) : struct('unknown', new Map())
}

/** Returns whether a value may be passed where `type` is expected. */
export function fits(type: CelType, value: unknown): boolean {
  if (type.kind === 'dyn' || type.kind === 'param') return true
  if (type.kind === 'map') return value instanceof Map
  const found = typeOfValue(value)
  return found.kind === type.kind && (type.kind !== 'opaque' || found.name === type.name)
}

/** Returns the key of a map entry in a form in which equal numbers of different types are the same key. */
export function mapKey(key: unknown): unknown {
  if (typeof key === 'number' && Number.isInteger(key)) return BigInt(key)
  return key instanceof Uint ? key.value : key
}

const numberOf = (value: unknown): bigint | number | undefined =>
  typeof value === 'bigint' || typeof value === 'number' ? value : value instanceof Uint ? value.value : undefined

/** Charges for what it walks in lists, maps and objects, of which upstream counts the outermost alone. */
export function equal(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string' && left.length === right.length && left.length >= LONG)
    charge(left.length / LONG)
  if (left === right && !(left instanceof OpaqueValue)) return true
  if (typeof left === 'string' || typeof left === 'boolean' || left === null || right === null) return false
  const number = numberOf(left)
  if (number !== undefined) {
    const other = numberOf(right)
    // biome-ignore lint/suspicious/noDoubleEquals: 1n and 1 are equal
    return other !== undefined && number == other
  }
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right)
  if (left instanceof Map) return right instanceof Map && equalMaps(left, right)
  if (left instanceof StructValue) return right instanceof StructValue && equalStructs(left, right)
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos
  if (left instanceof Optional)
    return right instanceof Optional && left.present && right.present && equal(left.value, right.value)
  if (left instanceof TypeValue)
    return right instanceof TypeValue && left.type.kind === right.type.kind && left.type.name === right.type.name
  if (left instanceof OpaqueValue)
    return right instanceof OpaqueValue && left.typeName === right.typeName && left.equals(right)
  return false
}

/** Strings from this length on cost a unit for each so many characters. */
const LONG = 100
function equalWithin(left: unknown, right: unknown): boolean {
  charge(TRAVERSAL)
  return equal(left, right)
}
function equalLists(left: unknown[], right: unknown[]): boolean {
  if (left.length !== right.length) return false
  const keys = keysOf(left)
  if (keys === undefined) return left.every((item, index) => equalWithin(item, right[index]))
  if (keys.isSet) {
    const ids = new Set(right.map((item) => keys.idOf(item)))
    return left.every((item) => ids.has(keys.idOf(item)))
  }
  const others = new Map(right.map((item) => [keys.idOf(item), item]))
  return left.every((item) => {
    const id = keys.idOf(item)
    return others.has(id) && equalWithin(item, others.get(id))
  })
}
function equalMaps(left: Map<unknown, unknown>, right: Map<unknown, unknown>): boolean {
  if (left.size !== right.size) return false
  for (const [key, value] of left) {
    if (!right.has(mapKey(key)) || !equalWithin(value, right.get(mapKey(key)))) return false
  }
  return true
}
function equalStructs(left: StructValue, right: StructValue): boolean {
  const names = left.names()
  return (
    names.length === right.names().length &&
    names.every((name) => right.has(name) && equalWithin(left.get(name), right.get(name)))
  )
}

/** Negative, 0 or positive; undefined where values have no order (NaN). Throws what is not comparable. */
export function compare(left: unknown, right: unknown): number | undefined {
  const number = numberOf(left)
  if (number !== undefined) {
    const other = numberOf(right)
    if (other === undefined) throw noSuchOverload()
    return number < other ? -1 : number > other ? 1 : number >= other ? 0 : undefined
  }
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right)
  if (
    (left instanceof Timestamp && right instanceof Timestamp) ||
    (left instanceof Duration && right instanceof Duration)
  )
    return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0
  throw noSuchOverload()
}
/** Orders texts by code points, as bytes of UTF-8 do. Looks no further than the first difference. */
function compareText(left: string, right: string): number {
  if (left === right) return 0
  const shorter = Math.min(left.length, right.length)
  for (let at = 0; at < shorter; at++) {
    const [unit, other] = [left.charCodeAt(at), right.charCodeAt(at)]
    if (unit !== other) return codePointOrder(unit) - codePointOrder(other)
  }
  return left.length - right.length
}
/** Halves of pairs stand for code points behind all others. */
const codePointOrder = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)
