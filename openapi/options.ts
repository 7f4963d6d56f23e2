/**
 * Query parameters by the type that they are the fields of, e.g. `ListOptions`; those of every request are under `''`.
 */
import { readFileSync } from 'node:fs'

export interface Option {
  type: string
  description: string
}

const read = <T>(name: string): T => JSON.parse(readFileSync(new URL(`data/${name}`, import.meta.url), 'utf8')) as T
let options: Record<string, Record<string, Option>> | undefined

/**
 * Returns the query parameters of a type by its Go name, such as `PodLogOptions`; empty for a type without query
 * parameters.
 */
export function optionsOf(type: string): Record<string, Option> {
  options ??= read('options.json')
  return options?.[type] ?? {}
}

/** Every group version that a real server knows, served or not, e.g. `v1` and `apps/v1beta2`. */
export const knownGroupVersions = (): string[] => read('group-versions.json')
