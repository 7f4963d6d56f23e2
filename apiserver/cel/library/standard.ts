/** Operators and conversions of the language itself. */

import { CelError } from '../errors.ts'
import type { Signature } from '../overloads.ts'
import { type CelType, typeOf } from '../types.ts'
import { keysOf, TypeValue, typeOfValue, Uint, withKeys } from '../values.ts'
import { goDouble, int, MAX_INT, MAX_UINT, MIN_INT, notConverted } from './numbers.ts'
import { characters } from './text.ts'

function uint(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}
const nonZero = (value: bigint, what: string): bigint => {
  if (value === 0n) throw new CelError(what)
  return value
}
const DIVISION = 'division by zero'
const MODULUS = 'modulus by zero'

/** Lists that are sets or maps by keys merge: items of the right replace those of the left. */
export function addLists(left: unknown[], right: unknown[]): unknown[] {
  const keys = keysOf(left)
  if (keys === undefined) return left.concat(right)
  const merged = left.slice()
  const places = new Map(left.map((item, index) => [keys.idOf(item), index]))
  for (const item of right) {
    const id = keys.idOf(item)
    const place = places.get(id)
    if (place === undefined) places.set(id, merged.push(item) - 1)
    else if (!keys.isSet) merged[place] = item
  }
  return withKeys(merged, keys)
}

const BOOLS = new Map([
  ...['1', 't', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])
function parseBool(text: string): boolean {
  const value = BOOLS.get(text)
  if (value === undefined) throw notConverted('bool')
  return value
}
function parseDouble(text: string): number {
  const special = /^[+-]?(?:inf|infinity|nan)$/i.exec(text)
  if (special !== null) return /nan/i.test(text) ? Number.NaN : text.startsWith('-') ? -Infinity : Infinity
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) throw notConverted('double')
  return Number(text)
}
function parseInteger(text: string, [min, max]: readonly [bigint, bigint], type: string): bigint {
  const [, sign = '', digits] = /^([+-]?)0*(\d{1,20})$/.exec(text) ?? []
  const value =
    digits === undefined || (sign !== '' && min === 0n) ? undefined : BigInt(`${sign === '-' ? '-' : ''}${digits}`)
  if (value === undefined || value < min || value > max) throw notConverted(type)
  return value
}
const parseInt64 = (text: string): bigint => parseInteger(text, [MIN_INT, MAX_INT], 'int')
const parseUint64 = (text: string): Uint => new Uint(parseInteger(text, [0n, MAX_UINT], 'uint'))

function doubleToInt(value: number): bigint {
  if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) throw new CelError('integer overflow')
  return BigInt(Math.trunc(value))
}
function doubleToUint(value: number): Uint {
  if (!(value >= 0 && value < 2 ** 64)) throw new CelError('unsigned integer overflow')
  return new Uint(BigInt(Math.trunc(value)))
}
function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}
const identity = (value: unknown): unknown => value
const nothing = (): never => {
  throw new CelError('no such overload')
}
const COMPARED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration']
const ACROSS = ['int, double', 'int, uint', 'uint, double', 'uint, int', 'double, int', 'double, uint']

/** Holds the standard functions of CEL. Operators that the program evaluates itself are listed for their types only. */
export const STANDARD: readonly Signature[] = [
  ['_?_:_(bool, A, A): A', nothing],
  ['_&&_(bool, bool): bool', nothing],
  ['_||_(bool, bool): bool', nothing],
  ['!_(bool): bool', nothing],
  ['@not_strictly_false(bool): bool', nothing],
  ['_==_(A, A): bool', nothing],
  ['_!=_(A, A): bool', nothing],
  ...['_<_', '_<=_', '_>_', '_>=_'].flatMap((name) =>
    [...COMPARED.map((type) => `${type}, ${type}`), ...ACROSS].map(
      (types): Signature => [`${name}(${types}): bool`, nothing],
    ),
  ),
  ['_[_](list<A>, int): A', nothing],
  ['_[_](map<A, B>, A): B', nothing],
  ['_[_](optional<list<A>>, int): optional<A>', nothing],
  ['_[_](optional<map<A, B>>, A): optional<B>', nothing],
  ['_[?_](list<A>, int): optional<A>', nothing],
  ['_[?_](optional<list<A>>, int): optional<A>', nothing],
  ['_[?_](map<A, B>, A): optional<B>', nothing],
  ['_[?_](optional<map<A, B>>, A): optional<B>', nothing],
  ['@in(A, list<A>): bool', nothing],
  ['@in(A, map<A, B>): bool', nothing],
  ['_+_(bytes, bytes): bytes', (left: Uint8Array, right: Uint8Array) => Buffer.concat([left, right])],
  ['_+_(double, double): double', (left: number, right: number) => left + right],
  ['_+_(int, int): int', (left: bigint, right: bigint) => int(left + right)],
  ['_+_(list<A>, list<A>): list<A>', addLists],
  ['_+_(string, string): string', (left: string, right: string) => left + right],
  ['_+_(uint, uint): uint', (left: Uint, right: Uint) => uint(left.value + right.value)],
  ['_-_(double, double): double', (left: number, right: number) => left - right],
  ['_-_(int, int): int', (left: bigint, right: bigint) => int(left - right)],
  ['_-_(uint, uint): uint', (left: Uint, right: Uint) => uint(left.value - right.value)],
  ['_*_(double, double): double', (left: number, right: number) => left * right],
  ['_*_(int, int): int', (left: bigint, right: bigint) => int(left * right)],
  ['_*_(uint, uint): uint', (left: Uint, right: Uint) => uint(left.value * right.value)],
  ['_/_(double, double): double', (left: number, right: number) => left / right],
  ['_/_(int, int): int', (left: bigint, right: bigint) => int(left / nonZero(right, DIVISION))],
  ['_/_(uint, uint): uint', (left: Uint, right: Uint) => uint(left.value / nonZero(right.value, DIVISION))],
  ['_%_(int, int): int', (left: bigint, right: bigint) => left % nonZero(right, MODULUS)],
  ['_%_(uint, uint): uint', (left: Uint, right: Uint) => uint(left.value % nonZero(right.value, MODULUS))],
  ['-_(double): double', (value: number) => -value],
  ['-_(int): int', (value: bigint) => int(-value)],
  ...['size(bytes)', 'bytes.size()'].map(
    (call): Signature => [`${call}: int`, (value: Uint8Array) => BigInt(value.length)],
  ),
  ...['size(list<A>)', 'list<A>.size()'].map(
    (call): Signature => [`${call}: int`, (value: unknown[]) => BigInt(value.length)],
  ),
  ...['size(map<A, B>)', 'map<A, B>.size()'].map(
    (call): Signature => [`${call}: int`, (value: Map<unknown, unknown>) => BigInt(value.size)],
  ),
  ...['size(string)', 'string.size()'].map(
    (call): Signature => [`${call}: int`, (value: string) => BigInt(characters(value))],
  ),
  ['type(A): type<A>', (value: unknown) => new TypeValue(runtimeType(value))],
  ['bool(bool): bool', identity],
  ['bool(string): bool', parseBool],
  ['bytes(bytes): bytes', identity],
  ['bytes(string): bytes', (text: string) => Buffer.from(text)],
  ['double(double): double', identity],
  ['double(int): double', Number],
  ['double(string): double', parseDouble],
  ['double(uint): double', ({ value }: Uint) => Number(value)],
  ['dyn(A): dyn', identity],
  ['int(int): int', identity],
  ['int(double): int', doubleToInt],
  ['int(string): int', parseInt64],
  ['int(uint): int', ({ value }: Uint) => int(value)],
  ['uint(uint): uint', identity],
  ['uint(double): uint', doubleToUint],
  ['uint(int): uint', uint],
  ['uint(string): uint', parseUint64],
  ['string(string): string', identity],
  ['string(bool): string', String],
  ['string(bytes): string', utf8],
  ['string(double): string', goDouble],
  ['string(int): string', String],
  ['string(uint): string', ({ value }: Uint) => String(value)],
]

function runtimeType(value: unknown): CelType {
  return value instanceof TypeValue ? typeOf(value.type) : typeOfValue(value)
}
