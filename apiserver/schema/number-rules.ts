import type { JSONSchemaProps } from './json-schema.ts'

/** `plain`: upstream reports it without a field. `value`: what is said to be wrong, where it is not the number. */
export interface NumberProblem {
  text: string
  plain?: boolean
  value?: number
}

const MAX_INT64 = 2 ** 63
const MAX_FLOAT32 = 3.4028234663852886e38

/**
 * Checks the range of the type, multipleOf, maximum and minimum, in this order, and returns the problems in upstream's
 * words.
 */
export function checkNumber(value: number | bigint, schema: JSONSchemaProps, name: string): NumberProblem[] {
  const problems: NumberProblem[] = []
  const type = schema['x-kubernetes-int-or-string'] === true ? '' : (schema.type ?? '')
  const range = outOfRange(value, type, schema.format, 'Checked', name)
  if (range !== undefined) problems.push({ text: range, plain: true })
  for (const rule of RULES) {
    const bound = rule.bound(schema)
    if (bound === undefined) continue
    const boundRange = outOfRange(bound, type, schema.format, rule.label, name)
    if (boundRange !== undefined) problems.push({ text: boundRange, plain: true })
    // An integer is compared with the bound cut to an integer, unless the bound cannot be one.
    const effective = boundRange === undefined && isInteger(value) ? Math.trunc(bound) : bound
    const exclusive = rule.exclusive(schema)
    if (rule.label === 'MultipleOf' && effective <= 0) {
      problems.push({ text: `factor MultipleOf declared for ${name} must be positive: ${effective}`, value: effective })
      continue
    }
    if (rule.violated(value, effective, exclusive))
      problems.push({
        text: `${name} in body should be ${rule.text(exclusive)} ${printNumber(effective, isInteger(value))}`,
      })
  }
  return problems
}

interface Rule {
  label: string
  bound(schema: JSONSchemaProps): number | undefined
  exclusive(schema: JSONSchemaProps): boolean
  violated(value: number | bigint, bound: number, exclusive: boolean): boolean
  text(exclusive: boolean): string
}
const RULES: Rule[] = [
  {
    label: 'MultipleOf',
    bound: (schema) => schema.multipleOf,
    exclusive: () => false,
    violated: (value, factor) => !isMultiple(value, factor),
    text: () => 'a multiple of',
  },
  {
    label: 'Maximum boundary',
    bound: (schema) => schema.maximum,
    exclusive: (schema) => schema.exclusiveMaximum === true,
    violated: (value, bound, exclusive) => (exclusive ? value >= bound : value > bound),
    text: (exclusive) => (exclusive ? 'less than' : 'less than or equal to'),
  },
  {
    label: 'Minimum boundary',
    bound: (schema) => schema.minimum,
    exclusive: (schema) => schema.exclusiveMinimum === true,
    violated: (value, bound, exclusive) => (exclusive ? value <= bound : value < bound),
    text: (exclusive) => (exclusive ? 'greater than' : 'greater than or equal to'),
  },
]

const isInteger = (value: number | bigint): boolean =>
  typeof value === 'bigint' || (Number.isInteger(value) && Math.abs(value) <= MAX_INT64)

function isMultiple(value: number | bigint, factor: number): boolean {
  if (isInteger(value) && isInteger(factor)) return BigInt(value) % BigInt(factor) === 0n
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor
  return isNearlyInteger(quotient)
}

/** Says what upstream's validator does: true within a billionth, and if small enough to be exact. */
function isNearlyInteger(value: number): boolean {
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return false
  const whole = Math.trunc(value)
  return value === whole || Math.abs(value - whole) / Math.abs(value + whole) < 1e-9
}

function outOfRange(
  value: number | bigint,
  type: string,
  format: string | undefined,
  label: string,
  name: string,
): string | undefined {
  if (fitsType(value, type, format)) return undefined
  return `${label} value must be of type ${type} ${format ? `with format ${format}` : '(default format)'} in ${name}`
}
function fitsType(value: number | bigint, type: string, format: string | undefined): boolean {
  if (type === 'integer') {
    if (!isInteger(value)) return false
    if (format === 'int32') return value >= -(2 ** 31) && value < 2 ** 31
    if (format === 'uint32') return value >= 0 && value < 2 ** 32
    if (format === 'uint64') return value >= 0 && value <= 2 ** 64
    return value >= -MAX_INT64 && value < MAX_INT64
  }
  return (format !== 'float' && format !== 'float32') || Math.abs(Number(value)) <= MAX_FLOAT32
}

/** Prints integers plainly, and a bound that is a float in scientific notation from 1e+06 on, as Go does. */
function printNumber(value: number, integer: boolean): string {
  if (integer && Number.isInteger(value)) return String(value)
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
