import { StatusError } from '../../shared/api/status/status-error.ts'
import { causeBytes } from '../validation/cut-text.ts'
import { identifier, type ManagedFieldsEntry } from './managed-fields.ts'
import { type FieldsV1, paths } from './structured-merge/fields.ts'
import { printPath } from './structured-merge/path-element.ts'

/** Fields of another manager that an apply would change. */
export interface Conflict {
  entry: ManagedFieldsEntry
  fields: FieldsV1
}

/**
 * Returns a 409 with a cause for each field. If the causes are more than fit into `maxBytes`, it has the first ones and
 * says how many there are.
 */
export function applyConflict(conflicts: Conflict[], maxBytes: number): StatusError {
  const owners = [...conflicts].sort((a, b) => (identifier(a.entry) < identifier(b.entry) ? -1 : 1))
  const causes: { reason: string; message: string; field: string }[] = []
  const lines: string[] = []
  let count = 0
  let bytes = 0
  for (const { entry, fields } of owners) {
    const manager = printManager(entry)
    const message = `conflict with ${manager}`
    const before = causes.length
    for (const path of paths(fields)) {
      count++
      if (bytes > maxBytes) continue
      const field = printPath(path)
      bytes += causeBytes(field, message)
      causes.push({ reason: 'FieldManagerConflict', message, field })
    }
    if (causes.length === before) continue
    lines.push(`conflicts with ${manager}:`, ...causes.slice(before).map(({ field }) => `- ${field}`))
  }
  const left = count - causes.length
  if (left > 0) lines.push(`and ${left} more conflicts`)
  const [first] = causes
  const message =
    count === 1 && first
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${count} conflicts: ${lines.join('\n')}`
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } }).atLimit(
    left > 0 ? 'maxStatusCauseBytes' : undefined,
  )
}

function printManager({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? '') + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : '')
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
