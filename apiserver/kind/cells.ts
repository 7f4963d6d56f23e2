/** Makes the cells that kubectl's tables have in common. */

import { parseTime } from '../../shared/clock/timestamp.ts'
import type { Column } from './resource-definition.ts'

export const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', description: 'Name of the object.' }
export const ageColumn: Column = { name: 'Age', type: 'string', description: 'Time since the object was created.' }
export const column = (name: string, description: string, options: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  description,
  ...options,
})
/** Columns with this priority appear only with `-o wide`. */
export const wide = { priority: 1 }

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

interface Step {
  /** Exclusive. */
  below: number
  unit: number
  sign: string
  /** Second unit, left out when it is zero. */
  rest?: { unit: number; sign: string }
}
const steps: Step[] = [
  { below: 2 * MINUTE, unit: SECOND, sign: 's' },
  { below: 10 * MINUTE, unit: MINUTE, sign: 'm', rest: { unit: SECOND, sign: 's' } },
  { below: 3 * HOUR, unit: MINUTE, sign: 'm' },
  { below: 8 * HOUR, unit: HOUR, sign: 'h', rest: { unit: MINUTE, sign: 'm' } },
  { below: 2 * DAY, unit: HOUR, sign: 'h' },
  { below: 8 * DAY, unit: DAY, sign: 'd', rest: { unit: HOUR, sign: 'h' } },
  { below: 2 * YEAR, unit: DAY, sign: 'd' },
  { below: 8 * YEAR, unit: YEAR, sign: 'y', rest: { unit: DAY, sign: 'd' } },
]

/** A duration with two or three significant figures: `95s`, `3m20s`, `47h`, `5d3h`, `16y`. */
export function humanDuration(ms: number): string {
  if (ms < -SECOND) return '<invalid>'
  if (ms < 0) return '0s'
  const step = steps.find(({ below }) => ms < below)
  if (!step) return `${Math.floor(ms / YEAR)}y`
  const count = Math.floor(ms / step.unit)
  const rest = step.rest ? Math.floor((ms % step.unit) / step.rest.unit) : 0
  return `${count}${step.sign}${rest > 0 ? `${rest}${step.rest?.sign}` : ''}`
}

export const age = (timestamp: string | null | undefined, nowMs: number): string =>
  timestamp ? humanDuration(nowMs - parseTime(timestamp)) : '<unknown>'

export const orNone = (text: string | undefined): string => text || '<none>'
