import { resource } from '../registry/resource-definition.ts'
import { invalid } from '../validation/field-error.ts'
import { age, ageColumn, column, nameColumn, wide } from './cells.ts'
import { deepEqual } from './deep-equal.ts'
import {
  type BindingObject,
  defaultBinding,
  RBAC_GROUP,
  rbacName,
  subjectCells,
  validateBinding,
} from './rbac-rules.ts'

export const clusterrolebinding = resource<BindingObject>({
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  namespaced: false,
  schema: 'io.k8s.api.rbac.v1.ClusterRoleBinding',
  columns: [
    nameColumn,
    column('Role', 'The role that is bound.'),
    ageColumn,
    column('Users', 'Users it is bound to.', wide),
    column('Groups', 'Groups it is bound to.', wide),
    column('ServiceAccounts', 'Service accounts it is bound to.', wide),
  ],
  cells: (binding, nowMs) => [
    binding.metadata.name,
    `${binding.roleRef.kind}/${binding.roleRef.name}`,
    age(binding.metadata.creationTimestamp, nowMs),
    ...subjectCells(binding),
  ],
  strategy: {
    applyDefaults: defaultBinding,
    validate: (binding, errors) => validateBinding(binding, { namespaced: false }, errors),
    validateUpdate(binding, old, errors) {
      validateBinding(binding, { namespaced: false }, errors)
      if (!deepEqual(binding.roleRef, old.roleRef)) {
        const { apiGroup, kind, name } = binding.roleRef
        errors.push(invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef'))
      }
    },
    validateName: rbacName,
    allowCreateOnUpdate: true,
  },
  example: {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'readers' },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'User', apiGroup: RBAC_GROUP, name: 'jane' }],
  },
})
