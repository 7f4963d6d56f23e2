import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { Lookup, LookupAll } from '../../kind/lookup.ts'
import type { User } from '../../kind/user.ts'
import type { BindingObject, RoleObject, Subject } from '../../validation/rbac-rules.ts'
import type { PolicyRule } from './policy-rule.ts'

const group = 'rbac.authorization.k8s.io'

/** A rule that applies to a user, or a binding whose role is not there. */
export type Granted = { rule: PolicyRule; source: () => string } | { error: string }

/** Reads the current roles and bindings. Upstream: pkg/registry/rbac/validation/rule.go. */
export interface RuleResolver {
  /**
   * Yields cluster-wide rules first, then those of `namespace` (`''`: no namespace), in the order of the bindings'
   * names.
   */
  rulesFor(user: User, namespace: string): Generator<Granted>
  /** Returns undefined if the role does not exist. */
  rulesOf(roleRef: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined
}

export function createRuleResolver(lookup: Lookup, lookupAll: LookupAll): RuleResolver {
  const rulesOf: RuleResolver['rulesOf'] = ({ kind, name }, namespace) => {
    const found =
      kind === 'Role'
        ? lookup({ group, plural: 'roles' }, namespace, name)
        : lookup({ group, plural: 'clusterroles' }, undefined, name)
    return found && ((found as unknown as RoleObject).rules ?? [])
  }

  function* granted(plural: string, kind: string, namespace: string, user: User): Generator<Granted> {
    for (const object of lookupAll({ group, plural }, namespace || undefined)) {
      const { metadata, roleRef, subjects } = object as unknown as BindingObject
      const subject = subjects?.find((candidate) => isSubject(candidate, user, namespace))
      if (!subject) continue
      const rules = rulesOf(roleRef, namespace)
      if (!rules) yield { error: notFound({ group, plural: roleRef.kind.toLowerCase() }, roleRef.name).message }
      const binding = namespace ? `${metadata.name}/${namespace}` : metadata.name
      const source = (): string =>
        `${kind} "${binding}" of ${roleRef.kind} "${roleRef.name}" to ${described(subject, namespace)}`
      for (const rule of rules ?? []) yield { rule, source }
    }
  }

  return {
    rulesOf,
    *rulesFor(user, namespace) {
      yield* granted('clusterrolebindings', 'ClusterRoleBinding', '', user)
      if (namespace) yield* granted('rolebindings', 'RoleBinding', namespace, user)
    },
  }
}

/** A service account without a namespace is one of the binding's own. */
function isSubject(subject: Subject, { name, groups }: User, namespace: string): boolean {
  if (subject.kind === 'User') return subject.name === name
  if (subject.kind === 'Group') return groups.includes(subject.name)
  const home = subject.namespace || namespace
  return subject.kind === 'ServiceAccount' && home !== '' && name === `system:serviceaccount:${home}:${subject.name}`
}

function described({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  return `${kind} "${kind === 'ServiceAccount' ? `${name}/${namespace || bindingNamespace}` : name}"`
}
