import { CelError } from '../errors.ts'

export const MIN_INT = -(2n ** 63n)
export const MAX_INT = 2n ** 63n - 1n
export const MAX_UINT = 2n ** 64n - 1n

export function int(value: bigint): bigint {
  if (value < MIN_INT || value > MAX_INT) throw new CelError('integer overflow')
  return value
}

/** A text is no value of the type. */
export const notConverted = (type: string): CelError => new CelError(`type conversion error from 'string' to '${type}'`)

/** A double as Go's shortest form prints it: with an exponent below -4 and from 6 digits before the point on. */
export function goDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
