import { age, ageColumn, column, nameColumn, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import {
  type BindingObject,
  defaultBinding,
  RBAC_GROUP,
  rbacName,
  subjectCells,
  validateBinding,
} from '../../validation/rbac-rules.ts'
import { deepEqual } from '../../values/deep-equal.ts'

/** The kind that binds a role to subjects, in one namespace or everywhere; which role is bound cannot be changed. */
const bindingKind = (namespaced: boolean) => {
  const kind = namespaced ? 'RoleBinding' : 'ClusterRoleBinding'
  return resource<BindingObject>({
    group: RBAC_GROUP,
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced,
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
      validate: (binding, errors) => validateBinding(binding, { namespaced }, errors),
      validateUpdate(binding, old, errors) {
        validateBinding(binding, { namespaced }, errors)
        if (deepEqual(binding.roleRef, old.roleRef)) return
        const { apiGroup, kind, name } = binding.roleRef
        errors.push(invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef'))
      },
      validateName: rbacName,
      allowCreateOnUpdate: true,
    },
    example: {
      metadata: { name: 'readers' },
      roleRef: { apiGroup: RBAC_GROUP, kind: namespaced ? 'Role' : 'ClusterRole', name: 'reader' },
      subjects: [{ kind: 'User', apiGroup: RBAC_GROUP, name: 'jane' }],
    },
  })
}

export const rolebinding = bindingKind(true)
export const clusterrolebinding = bindingKind(false)
