import { invalid, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { dns1035Label } from '../../validation/names.ts'
import type { CustomResourceDefinitionNames } from '../custom-resource-definition.ts'

/** Validates spec.names or status.acceptedNames. Absent names are left to {@link requireNames}. */
export function validateNames(names: CustomResourceDefinitionNames, path: string): FieldError[] {
  const label = (field: string, value = ''): FieldError[] => (value ? item(field, value) : [])
  const item = (field: string, value: string): FieldError[] => {
    const messages = dns1035Label(value)
    return messages.length > 0 ? [invalid(`${path}.${field}`, value, messages.join(','))] : []
  }
  const mixedCase = (field: string, value: string | undefined): FieldError[] => {
    const messages = value ? dns1035Label(value.toLowerCase()) : []
    return messages.length > 0
      ? [invalid(`${path}.${field}`, value, `may have mixed case, but should otherwise match: ${messages.join(',')}`)]
      : []
  }
  return [
    ...label('plural', names.plural),
    ...label('singular', names.singular),
    ...mixedCase('kind', names.kind),
    ...mixedCase('listKind', names.listKind),
    ...(names.shortNames ?? []).flatMap((name, index) => item(`shortNames[${index}]`, name)),
    ...(names.kind && names.kind === names.listKind
      ? [invalid(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same')]
      : []),
    ...(names.categories ?? []).flatMap((name, index) => item(`categories[${index}]`, name)),
  ]
}

export const requireNames = (names: CustomResourceDefinitionNames, path: string): FieldError[] =>
  (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((field) => !names[field])
    .map((field) => required(`${path}.${field}`))
