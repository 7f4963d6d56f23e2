import type { OptionType } from '../../shared/config/option.ts'
import { mustBe } from '../../shared/config/option-types.ts'

/** `0,143`, may be given several times; a list of numbers in the file. */
export const exitCodes: OptionType<number[]> = {
  placeholder: 'CODE,…',
  schema: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } },
  fromText: (value, soFar = []) => [...soFar, ...check(value.split(',').map(toNumber))],
  fromFile: check,
  show: (codes) => codes.join(','),
}

const toNumber = (text: string): unknown => (/^\d+$/.test(text) ? Number(text) : text)

function check(value: unknown): number[] {
  const isCode = (code: unknown): boolean => Number.isInteger(code) && (code as number) >= 0 && (code as number) <= 255
  if (Array.isArray(value) && value.every(isCode)) return value as number[]
  throw mustBe('a list of exit codes from 0 to 255', value)
}
