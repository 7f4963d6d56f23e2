/** Rules that roles and bindings share, namespaced or not. */
import type { V1PolicyRule, V1RoleRef } from '@kubernetes/client-node'
import type { ObjectMeta } from '../../shared/api/types.ts'
import { invalid, notSupported, required } from './field-error.ts'
import type { FieldErrors } from './field-errors.ts'
import { dns1123Subdomain, pathSegmentName } from './names.ts'

export const RBAC_GROUP = 'rbac.authorization.k8s.io'
export const rbacName = (name: string): string[] => pathSegmentName(name)

export interface RoleObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  rules?: V1PolicyRule[] | null
}
export interface Subject {
  kind: string
  apiGroup?: string
  name: string
  namespace?: string
}
export interface BindingObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  roleRef: V1RoleRef
  subjects?: Subject[]
}

export function validateRules(rules: V1PolicyRule[], namespaced: boolean, errors: FieldErrors): void {
  for (const [index, rule] of rules.entries()) {
    const at = `rules[${index}]`
    const { verbs, apiGroups = [], resources = [], nonResourceURLs = [] } = rule
    if (!verbs?.length) errors.push(required(`${at}.verbs`, 'verbs must contain at least one value'))
    if (nonResourceURLs.length > 0) {
      if (namespaced) {
        const detail = 'namespaced rules cannot apply to non-resource URLs'
        errors.push(invalid(`${at}.nonResourceURLs`, nonResourceURLs, detail))
      }
      if (apiGroups.length > 0 || resources.length > 0 || rule.resourceNames?.length) {
        const detail = 'rules cannot apply to both regular resources and non-resource URLs'
        errors.push(invalid(`${at}.nonResourceURLs`, nonResourceURLs, detail))
      }
      continue
    }
    if (apiGroups.length === 0) {
      errors.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'))
    }
    if (resources.length === 0) {
      errors.push(required(`${at}.resources`, 'resource rules must supply at least one resource'))
    }
  }
}

export function defaultBinding({ roleRef, subjects = [] }: BindingObject): void {
  roleRef.apiGroup ||= RBAC_GROUP
  for (const subject of subjects) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= RBAC_GROUP
  }
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']

export function validateBinding(
  { roleRef, subjects = [] }: BindingObject,
  { namespaced }: { namespaced: boolean },
  errors: FieldErrors,
): void {
  const roleKinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  if (roleRef.apiGroup !== RBAC_GROUP) errors.push(notSupported('roleRef.apiGroup', roleRef.apiGroup, [RBAC_GROUP]))
  if (!roleKinds.includes(roleRef.kind)) errors.push(notSupported('roleRef.kind', roleRef.kind, roleKinds))
  if (!roleRef.name) errors.push(required('roleRef.name'))
  else for (const message of pathSegmentName(roleRef.name)) errors.push(invalid('roleRef.name', roleRef.name, message))
  for (const [index, subject] of subjects.entries()) {
    const at = `subjects[${index}]`
    if (!subject.name) errors.push(required(`${at}.name`))
    if (!subjectKinds.includes(subject.kind)) {
      errors.push(notSupported(`${at}.kind`, subject.kind, subjectKinds))
      continue
    }
    const isAccount = subject.kind === 'ServiceAccount'
    if (isAccount && subject.name)
      for (const message of dns1123Subdomain(subject.name)) errors.push(invalid(`${at}.name`, subject.name, message))
    const group = isAccount ? '' : RBAC_GROUP
    if ((subject.apiGroup ?? '') !== group) errors.push(notSupported(`${at}.apiGroup`, subject.apiGroup ?? '', [group]))
    if (isAccount && !subject.namespace && !namespaced) errors.push(required(`${at}.namespace`))
  }
}

/** Cells after name: role, age, then users, groups and service accounts. */
export function subjectCells({ subjects = [] }: BindingObject): string[] {
  const named = (kind: string) => subjects.filter((subject) => subject.kind === kind)
  return [
    named('User')
      .map(({ name }) => name)
      .join(', '),
    named('Group')
      .map(({ name }) => name)
      .join(', '),
    named('ServiceAccount')
      .map(({ name, namespace = '' }) => `${namespace}/${name}`)
      .join(', '),
  ]
}
