/**
 * Says what keeps a patched object from being of its type, in the words of the converter that a real server uses for
 * strategic merge patches and applies: shorter than those of its JSON decoder, and without a path.
 */

import { type FieldKind, type StructType, structType, type ValueType } from '../../openapi/types.ts'
import { canonicalQuantity } from '../../shared/api/quantities/quantity.ts'
import { canonicalMicroTime, canonicalTime } from '../../shared/clock/go-time.ts'
import { canonicalBase64 } from '../validation/base64.ts'
import { quantityFormat } from '../validation/decoder.ts'
import { jsonWord } from '../validation/json-word.ts'
import { isMap, own } from '../values/json-map.ts'
import { printType } from './structured-merge/go-print.ts'

/**
 * The first mistake, undefined when there is none that this converter would find. What `object` shares with `before`,
 * which has none, is not looked at. A whole number beyond a field of 32 bits loses its higher bits in `object`.
 */
export const conversionError = (
  schema: string,
  object: Record<string, unknown>,
  before?: Record<string, unknown>,
): string | undefined => inStruct(structType(schema), object, before)

const scalarOf: Partial<Record<FieldKind, string>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'number',
  int64: 'number',
  double: 'number',
}

const goKinds: Partial<Record<FieldKind, string>> = { double: 'float64' }

function inStruct(struct: StructType, value: unknown, before?: unknown): string | undefined {
  if (!isMap(value)) return `cannot restore struct from: ${kindOf(value)}`
  const known = isMap(before) ? before : {}
  return first(struct.fields, ({ name, type }) => {
    if (!Object.hasOwn(value, name)) return undefined
    const wrong = inValue(type, value[name], own(known, name))
    if (wrong === undefined && type.kind === 'int32') value[name] = lowerBits(value[name])
    return wrong
  })
}

type Whole = number | bigint
const isWhole32 = (value: Whole): boolean => (Number(value) | 0) === Number(value)

function lowerBits(value: unknown): unknown {
  const isLarge = (typeof value === 'number' || typeof value === 'bigint') && !isWhole32(value)
  return isLarge ? Number(BigInt.asIntN(32, BigInt(value))) : value
}

function inValue(type: ValueType, value: unknown, before?: unknown): string | undefined {
  if (value === null || value === undefined || value === before) return undefined
  switch (type.kind) {
    case 'object':
      return inStruct(structType(type.ref ?? ''), value, before)
    case 'map':
      if (!isMap(value)) return `cannot restore map from ${kindOf(value)}`
      return first(Object.values(value), (item) => inValue(type.item!, item))
    case 'list':
      if (!Array.isArray(value)) return `cannot restore slice from ${kindOf(value)}`
      return first(value, (item) => inValue(type.item!, item))
    default:
      return inScalar(type, value)
  }
}

function inScalar(type: ValueType, value: unknown): string | undefined {
  const expected = scalarOf[type.kind]
  if (!expected) return inOwnForm(type, value)
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  const whole = type.kind === 'double' || !isNumber || printType(value) === 'int64'
  if ((isNumber ? 'number' : typeof value) === expected && whole) return undefined
  // Go could turn a number into another, or a whole one into text, and is told not to; of others it has never heard.
  const isRelated = isNumber && (expected === 'number' || (expected === 'string' && whole))
  return isRelated
    ? `cannot convert ${printType(value)} to ${type.goType}`
    : `unrecognized type: ${goKinds[type.kind] ?? type.kind}`
}

/** Types with a decoder of their own: its errors name no field. */
function inOwnForm({ kind }: ValueType, value: unknown): string | undefined {
  const refuse = (type: string): string => `json: cannot unmarshal ${jsonWord(value)} into Go value of type ${type}`
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  switch (kind) {
    case 'Time':
    case 'MicroTime':
      if (typeof value !== 'string') return refuse('string')
      return problemOf(() => (kind === 'Time' ? canonicalTime : canonicalMicroTime)(value))
    case 'Quantity':
      if (typeof value !== 'string' && !isNumber) return quantityFormat
      return problemOf(() => canonicalQuantity(String(value).trim()))
    case 'IntOrString':
      if (typeof value === 'string' || (isNumber && isWhole32(value))) return undefined
      return isNumber ? `json: cannot unmarshal number ${value} into Go value of type int32` : refuse('int32')
    case 'bytes': {
      if (Array.isArray(value)) return first(value, inByte)
      if (typeof value !== 'string') return `cannot restore slice from ${kindOf(value)}`
      const problem = problemOf(() => canonicalBase64(value))
      return problem && `error decoding from json: ${problem}`
    }
    default:
      return undefined
  }
}

/** Go takes bytes as a list of numbers as well. */
function inByte(value: unknown): string | undefined {
  if (value === null || (typeof value === 'number' && Number.isInteger(value))) return undefined
  return typeof value === 'number' ? 'cannot convert float64 to uint8' : 'unrecognized type: uint8'
}

function problemOf(read: () => string): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** Names the kind of a value as Go's reflection does. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice'
  return isMap(value) ? 'map' : printType(value)
}
