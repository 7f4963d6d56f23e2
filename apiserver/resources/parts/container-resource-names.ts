/** Names of what a container may ask for: `cpu`, `hugepages-2Mi`, `example.com/gpu`. */
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { qualifiedName } from '../../validation/names.ts'
import { measured, standardResources } from './counted-resources.ts'
import { reject } from './messages.ts'

export const HUGE_PAGES = 'hugepages-'

export const isHugePage = (name: string) => name.startsWith(HUGE_PAGES)
export const isNative = (name: string) => !name.includes('/') || name.includes('kubernetes.io/')
export const isExtended = (name: string) =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0
export const canOvercommit = (name: string) => isNative(name) && !isHugePage(name)

/** Returns whether the name is one of a standard resource or a qualified one. */
export function validateResourceName(name: string, field: string, errors: FieldErrors): boolean {
  const messages = qualifiedName(name)
  reject(errors, field, name, messages)
  if (messages.length > 0) return false
  if (name.includes('/') || standardResources.has(name) || isHugePage(name)) return true
  errors.push(invalid(field, name, 'must be a standard resource type or fully qualified'))
  return false
}

export function validateContainerResourceName(name: string, field: string, errors: FieldErrors): void {
  if (measured.has(name)) return
  validateResourceName(name, field, errors)
  if (!name.includes('/')) {
    if (!isHugePage(name)) errors.push(invalid(field, name, 'must be a standard resource for containers'))
  } else if (!isNative(name) && !isExtended(name)) {
    errors.push(invalid(field, name, "doesn't follow extended resource name standard"))
  }
}
