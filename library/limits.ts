import { limitOptions, type SettableLimit } from '../apiserver/http/limits/limits.ts'
import { readEntry, record, suggestion } from '../shared/config/option-types.ts'
import type { Duration } from './duration.ts'

/**
 * Sets limits of the API server by the names of its flags: `maxCelSteps` is `--max-cel-steps`. Times are durations, all
 * others numbers. The configuration's table of the limits of clients has all names.
 */
export type ClusterLimits = { [Name in SettableLimit]?: Name extends `${string}Timeout` ? Duration : number }

/**
 * Returns the limits that are set, times in milliseconds. Throws an Error about the first limit that is unknown or out
 * of range; its message continues after the name of the option.
 */
export function limitsFrom(given: ClusterLimits): Partial<Record<SettableLimit, number>> {
  const set = Object.entries(record(given)).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set.map(([name, value]) => [name, readEntry(name, value, () => limitFrom(name, value))]))
}

function limitFrom(name: string, value: unknown): number {
  if (!Object.hasOwn(limitOptions, name))
    throw new Error(`is not a limit of the API server; ${suggestion(name, Object.keys(limitOptions))}`)
  const { type } = limitOptions[name as SettableLimit]
  return type.fromFile(name.endsWith('Timeout') && typeof value === 'number' ? `${value}ms` : value)
}
