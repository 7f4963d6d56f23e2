import { resource } from '../../kind/resource-definition.ts'

import { RBAC_GROUP, type RoleObject, rbacName, validateRules } from '../../validation/rbac-rules.ts'

export const role = resource<RoleObject>({
  group: RBAC_GROUP,
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
  strategy: {
    validate: ({ rules }, errors) => validateRules(rules ?? [], true, errors),
    validateName: rbacName,
    allowCreateOnUpdate: true,
  },
  example: {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
  },
})
