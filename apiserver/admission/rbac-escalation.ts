import { forbidden, notFound } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Access } from '../auth/access.ts'
import type { PolicyRule } from '../auth/rbac/policy-rule.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'
import { type BindingObject, RBAC_GROUP, type RoleObject } from '../validation/rbac-rules.ts'
import { deepEqual } from '../values/deep-equal.ts'

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/**
 * A user cannot grant permissions that the user does not hold, unless the user may `escalate` the role or `bind` it.
 * The plugin must run after all other mutating plugins. Upstream:
 * pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased.
 */
export function rbacEscalation(access: Access): AdmissionPlugin {
  return {
    admit(attributes) {
      const { definition, operation, user } = attributes
      if (definition.group !== RBAC_GROUP || operation === 'DELETE' || user.groups.includes('system:masters')) return
      if (onlyForTheCollector(attributes)) return
      return definition.plural.endsWith('bindings') ? checkBinding(access, attributes) : checkRole(access, attributes)
    },
  }
}

async function checkRole(access: Access, { definition, namespace, name, user, object, old }: AdmissionAttributes) {
  if (await isAllowed(access, { user, verb: 'escalate', plural: definition.plural, namespace, name })) return
  const role = object as unknown as RoleObject
  const refuse = (why: string) => forbidden(definition, role.metadata.name ?? '', why)
  const why = access.escalation(user, namespace ?? '', role.rules ?? [])
  if (why !== undefined) throw refuse(why)
  // A role that gathers others may come to hold anything.
  if (!(aggregates(object) || aggregates(old)) || access.escalation(user, '', everything) === undefined) return
  throw refuse('must have cluster-admin privileges to use the aggregationRule')
}

async function checkBinding(access: Access, { definition, namespace, user, object }: AdmissionAttributes) {
  const { metadata, roleRef } = object as unknown as BindingObject
  const plural = roleRef.kind === 'Role' ? 'roles' : 'clusterroles'
  if (await isAllowed(access, { user, verb: 'bind', plural, namespace, name: roleRef.name })) return
  const rules = access.rules.rulesOf(roleRef, namespace ?? '')
  if (!rules) throw notFound(definition, roleRef.name)
  const why = access.escalation(user, namespace ?? '', rules)
  if (why !== undefined) throw forbidden(definition, metadata.name ?? '', why)
}

interface Question extends Pick<AdmissionAttributes, 'user' | 'namespace' | 'name'> {
  verb: string
  plural: string
}

async function isAllowed(access: Access, { user, verb, plural, namespace, name }: Question): Promise<boolean> {
  const resource = { group: RBAC_GROUP, resource: plural, namespace, name }
  return (await access.decide({ user, verb, path: '', resource })).verdict === 'allow'
}

const aggregates = (object: KubeObject | undefined): boolean =>
  ((object?.aggregationRule as { clusterRoleSelectors?: unknown[] } | undefined)?.clusterRoleSelectors ?? []).length > 0

/** Returns whether a write changes only what the garbage collector changes to let an object go. */
function onlyForTheCollector({ object, old }: AdmissionAttributes): boolean {
  if (!object || !old) return false
  const { ownerReferences, finalizers, managedFields } = old.metadata
  const metadata = { ...object.metadata, ownerReferences, finalizers, managedFields }
  const untyped = { kind: undefined, apiVersion: undefined }
  return deepEqual({ ...object, ...untyped, metadata }, { ...old, ...untyped })
}
