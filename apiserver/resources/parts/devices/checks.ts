/** Checks that claims, classes and slices of devices share. Upstream: pkg/apis/resource/validation. */
import { duplicate, invalid, required, tooLong, tooMany } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { cIdentifier, dns1123Label, dns1123Subdomain, qualifiedName } from '../../../validation/names.ts'
import { validateDriverName } from '../driver-name.ts'
import { reject } from '../messages.ts'

export type Check<T> = (item: T, path: string) => void

interface ListRule<T> {
  max?: number
  check: Check<T>
  /** Items with the same key are duplicates. */
  key?: (item: T) => unknown
}

/** Checks the items of a list, unless they are too many. */
export function validateItems<T>(
  items: readonly T[] | undefined,
  path: string,
  errors: FieldErrors,
  { max = Number.POSITIVE_INFINITY, check, key }: ListRule<T>,
): void {
  if (!items) return
  if (items.length > max) {
    errors.push(tooMany(path, items.length, max))
    return
  }
  for (const [index, item] of items.entries()) check(item, `${path}[${index}]`)
  if (!key) return
  const seen = new Set<unknown>()
  for (const [index, item] of items.entries()) {
    const name = key(item)
    if (seen.has(name)) errors.push(duplicate(`${path}[${index}]`, name))
    seen.add(name)
  }
}

const maxPoolBytes = 253
const maxIdBytes = 32

export function validatePoolName(name: string | undefined, path: string, errors: FieldErrors): void {
  if (!name) {
    errors.push(required(path))
    return
  }
  if (name.length > maxPoolBytes) errors.push(tooLong(path, maxPoolBytes))
  for (const part of name.split('/')) reject(errors, path, part, dns1123Subdomain(part))
}

export function validateLabelName(name: string | undefined, path: string, errors: FieldErrors): void {
  const text = name ?? ''
  reject(errors, path, text, dns1123Label(text))
}

export function validateKeyName(name: string | undefined, path: string, errors: FieldErrors): void {
  const text = name ?? ''
  reject(errors, path, text, qualifiedName(text))
}

/** Checks a name with or without the domain of a driver before it. More than one slash is not looked at, as there. */
export function validateAttributeName(name: string, path: string, errors: FieldErrors): void {
  const parts = name.split('/')
  if (parts.length > 2) return
  if (parts.length === 2) {
    if (parts[0] === '') errors.push(invalid(path, '', 'the domain must not be empty'))
    else validateDriverName(parts[0], path, errors)
    if (parts[1] === '') {
      errors.push(invalid(path, '', 'the name must not be empty'))
      return
    }
  }
  const id = parts.at(-1)!
  if (id.length > maxIdBytes) errors.push(tooLong(path, maxIdBytes))
  reject(errors, path, id, cIdentifier(id))
}

export function validateQualifiedAttribute(name: string, path: string, errors: FieldErrors): void {
  validateAttributeName(name, path, errors)
  if (name.includes('/')) return
  errors.push(invalid(path, name, 'a fully qualified name must be a domain and a name separated by a slash'))
}

/** Checks data that only a driver knows: a JSON object. */
export function validateOpaqueData(data: unknown, path: string, errors: FieldErrors): void {
  if (data === undefined || data === null) errors.push(required(path))
  else if (JSON.stringify(data).length > maxDataBytes) errors.push(tooLong(path, maxDataBytes))
  else if (typeof data !== 'object' || Array.isArray(data))
    errors.push(invalid(path, '<value omitted>', 'must be a valid JSON object'))
}
const maxDataBytes = 10 * 1024

const maxBindingConditions = 4

export interface Binding {
  bindingConditions?: string[]
  bindingFailureConditions?: string[]
}

export function validateBinding(binding: Binding, path: string, errors: FieldErrors): void {
  const lists = ['bindingConditions', 'bindingFailureConditions'] as const
  for (const list of lists) {
    const check: Check<string> = (name, at) => validateKeyName(name, at, errors)
    validateItems(binding[list], `${path}.${list}`, errors, { max: maxBindingConditions, check })
  }
  const { bindingConditions = [], bindingFailureConditions = [] } = binding
  const wanted = new Set<string>()
  for (const [index, name] of bindingConditions.entries()) {
    if (wanted.has(name)) errors.push(duplicate(`${path}.bindingConditions[${index}]`, name))
    wanted.add(name)
  }
  const failing = new Set<string>()
  for (const [index, name] of bindingFailureConditions.entries()) {
    const at = `${path}.bindingFailureConditions[${index}]`
    if (failing.has(name)) errors.push(duplicate(at, name))
    failing.add(name)
    if (wanted.has(name))
      errors.push(invalid(at, name, 'bindingFailureConditions must not overlap with bindingConditions'))
  }
  for (const [list, other] of [lists, [...lists].reverse()]) {
    if (binding[list!]?.length || !binding[other!]?.length) continue
    errors.push(invalid(`${path}.${list}`, binding[list!] ?? null, `${list} are required to use ${other}`))
  }
}
