import type { StrategyContext } from '../../../kind/resource-definition.ts'
import { forbidden } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'

const label = 'resource.kubernetes.io/admin-access'
const why = `admin access to devices requires the \`${label}: true\` label on the containing namespace`

/** Refuses the first of the items that wants a device that others use, unless the namespace is for such claims. */
export function validateAdminAccess(
  items: readonly ({ adminAccess?: boolean } | undefined)[] | undefined,
  path: string,
  errors: FieldErrors,
  { namespaceLabels }: StrategyContext,
): void {
  const index = items?.findIndex((item) => item?.adminAccess) ?? -1
  if (index === -1 || !namespaceLabels || namespaceLabels()?.[label] === 'true') return
  errors.push(forbidden(`${path}[${index}].adminAccess`, why))
}
