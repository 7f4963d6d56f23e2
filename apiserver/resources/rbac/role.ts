import { resource } from '../../kind/resource-definition.ts'

import { RBAC_GROUP, type RoleObject, rbacName, validateRules } from '../../validation/rbac-rules.ts'

export const role = resource<RoleObject>({
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  namespaced: true,
  schema: 'io.k8s.api.rbac.v1.Role',
  strategy: {
    validate: ({ rules }, errors) => validateRules(rules ?? [], true, errors),
    validateName: rbacName,
    allowCreateOnUpdate: true,
  },
  example: {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'Role',
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }],
  },
})
