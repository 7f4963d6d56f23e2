import { RBAC_GROUP } from '../../../validation/rbac-rules.ts'
import type { PolicyRule } from '../policy-rule.ts'

/** Describes a Role or ClusterRole in a compact form. */
export interface RoleRow {
  /** Names the namespace of a Role; absent for a ClusterRole. */
  namespace?: string
  name: string
  /** The user-facing role (`admin`, `edit`, `view`) that takes this one's rules in. */
  aggregateTo?: string
  /** The role has no rules of its own; it aggregates the rules of every role whose `aggregateTo` has this value. */
  aggregates?: string
  /** `verbs groups resources [names]`, or `verbs URLs`; lists by comma, the core group as `core`. */
  rules?: readonly string[]
}

export interface BindingRow {
  namespace?: string
  name: string
  /** Names the role; by default as the binding. */
  role?: string
  /** `User x`, `Group x`, `ServiceAccount namespace/x`. */
  subjects: readonly string[]
}

export function ruleOf(text: string): PolicyRule {
  const [verbs = [], ...rest] = text.split(' ').map((list) => list.split(','))
  const [groups = [], resources, resourceNames] = rest
  if (!resources) return { verbs, nonResourceURLs: groups }
  const apiGroups = groups.map((group) => (group === 'core' ? '' : group))
  return { verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) }
}

export function subjectOf(text: string): Record<string, string> {
  const [kind = '', subject = ''] = text.split(' ')
  if (kind !== 'ServiceAccount') return { kind, apiGroup: RBAC_GROUP, name: subject }
  const [namespace = '', name = ''] = subject.split('/')
  return { kind, name, namespace }
}

const aggregateLabel = (role: string): string => `${RBAC_GROUP}/aggregate-to-${role}`

export const labelsOf = ({ aggregateTo }: RoleRow): Record<string, string> => ({
  'kubernetes.io/bootstrapping': 'rbac-defaults',
  ...(aggregateTo && { [aggregateLabel(aggregateTo)]: 'true' }),
})

export const aggregationRuleOf = (role: string) => ({
  clusterRoleSelectors: [{ matchLabels: { [aggregateLabel(role)]: 'true' } }],
})
