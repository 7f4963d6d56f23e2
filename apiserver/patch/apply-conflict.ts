import { StatusError } from '../../shared/api/status-error.ts'
import { identifier, type ManagedFieldsEntry } from './managed-fields.ts'
import { type FieldsV1, paths } from './structured-merge/fields.ts'
import { printPath } from './structured-merge/path-element.ts'

/** Fields of another manager that an apply would change. */
export interface Conflict {
  entry: ManagedFieldsEntry
  fields: FieldsV1
}

/** 409 with a cause for each field. */
export function applyConflict(conflicts: Conflict[]): StatusError {
  const owners = [...conflicts].sort((a, b) => (identifier(a.entry) < identifier(b.entry) ? -1 : 1))
  const found = owners.map(({ entry, fields }) => ({
    manager: printManager(entry),
    fields: [...paths(fields)].map(printPath),
  }))
  const causes = found.flatMap(({ manager, fields }) =>
    fields.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${manager}`, field })),
  )
  const [first] = causes
  const message =
    causes.length === 1 && first
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${causes.length} conflicts: ${found
          .map(({ manager, fields }) =>
            [`conflicts with ${manager}:`, ...fields.map((field) => `- ${field}`)].join('\n'),
          )
          .join('\n')}`
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } })
}

function printManager({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? '') + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : '')
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
