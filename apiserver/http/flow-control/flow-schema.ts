import type { V1FlowSchema } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import type { Attributes } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'

export type FlowSchema = WithMeta<V1FlowSchema>
type Rule = NonNullable<NonNullable<FlowSchema['spec']>['rules']>[number]

/**
 * Returns the schema that a request falls under: the first match of `schemas`, which stand by precedence, then by name.
 * Upstream: apiserver/pkg/util/flowcontrol/rule.go.
 */
export const matchSchema = (schemas: readonly FlowSchema[], attributes: Attributes): FlowSchema | undefined =>
  schemas.find(({ spec }) => spec?.rules?.some((rule) => matches(rule, attributes)))

export const byPrecedence = (schemas: Iterable<FlowSchema>): FlowSchema[] =>
  [...schemas].sort(
    (a, b) =>
      (a.spec?.matchingPrecedence ?? 0) - (b.spec?.matchingPrecedence ?? 0) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  )

function matches(
  { subjects, resourceRules = [], nonResourceRules = [] }: Rule,
  { user, verb, path, resource }: Attributes,
): boolean {
  if (!subjects.some((subject) => isSubject(subject, user))) return false
  if (!resource) {
    return nonResourceRules.some(
      ({ verbs, nonResourceURLs }) => has(verbs, verb) && nonResourceURLs.some((url) => matchesUrl(url, path)),
    )
  }
  const { group, resource: plural, subresource, namespace } = resource
  const name = subresource ? `${plural}/${subresource}` : plural
  return resourceRules.some(
    ({ verbs, apiGroups, resources, namespaces, clusterScope }) =>
      has(verbs, verb) &&
      has(apiGroups, group) &&
      has(resources, name) &&
      (namespace === undefined ? clusterScope === true : has(namespaces ?? [], namespace)),
  )
}

const has = (patterns: readonly string[], value: string): boolean => patterns.includes('*') || patterns.includes(value)

const matchesUrl = (pattern: string, path: string): boolean =>
  pattern === '*' || pattern === path || (pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1)))

function isSubject({ kind, user: named, group, serviceAccount }: Rule['subjects'][number], user: User): boolean {
  if (kind === 'User') return named?.name === '*' || named?.name === user.name
  if (kind === 'Group') return group?.name === '*' || user.groups.includes(group?.name ?? '')
  const { namespace, name } = serviceAccount ?? { namespace: '', name: '' }
  const prefix = `system:serviceaccount:${namespace}:`
  return name === '*' ? user.name.startsWith(prefix) : user.name === prefix + name
}

/** Returns the name of the request's flow. Requests of one flow wait behind each other. */
export function flowOf({ spec }: FlowSchema, { user, resource }: Attributes): string {
  const method = spec?.distinguisherMethod?.type
  return method === 'ByUser' ? user.name : method === 'ByNamespace' ? (resource?.namespace ?? '') : ''
}
