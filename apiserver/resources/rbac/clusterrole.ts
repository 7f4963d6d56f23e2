import { resource } from '../../kind/resource-definition.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { RBAC_GROUP, type RoleObject, rbacName, validateRules } from '../../validation/rbac-rules.ts'

export const clusterrole = resource<ClusterRoleObject>({
  group: RBAC_GROUP,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  strategy: {
    validate,
    validateName: rbacName,
    allowCreateOnUpdate: true,
  },
  example: {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
  },
})

interface ClusterRoleObject extends RoleObject {
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] }
}

function validate({ rules, aggregationRule }: ClusterRoleObject, errors: FieldErrors): void {
  validateRules(rules ?? [], false, errors)
  if (!aggregationRule) return
  const selectors = aggregationRule.clusterRoleSelectors ?? []
  const path = 'aggregationRule.clusterRoleSelectors'
  if (selectors.length === 0) {
    errors.push(required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil'))
  }
  for (const [index, selector] of selectors.entries()) {
    const before = errors.length
    validateLabelSelector(selector, `${path}[${index}]`, errors)
    if (errors.length > before) errors.push(invalid(`${path}[${index}]`, null, 'invalid label selector.'))
  }
}
