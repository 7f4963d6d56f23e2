import type { V1PolicyRule } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import type { Attributes } from '../types.ts'

export type PolicyRule = Wire<V1PolicyRule>

/**
 * Returns whether the rule covers what the user wants to do. Upstream: plugin/pkg/auth/authorizer/rbac,
 * pkg/apis/rbac/v1/evaluation_helpers.go.
 */
export function allows(rule: PolicyRule, { verb, path, resource }: Attributes): boolean {
  if (!matches(rule.verbs, verb)) return false
  if (!resource) return (rule.nonResourceURLs ?? []).some((url) => matchesUrl(url, path))
  const { group, resource: plural, subresource, name = '' } = resource
  return (
    matches(rule.apiGroups, group) &&
    (rule.resources ?? []).some((pattern) => matchesResource(pattern, plural, subresource)) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(name))
  )
}

const matches = (patterns: readonly string[] = [], value: string): boolean =>
  patterns.includes('*') || patterns.includes(value)

function matchesResource(pattern: string, plural: string, subresource: string | undefined): boolean {
  if (pattern === '*') return true
  return subresource ? pattern === `${plural}/${subresource}` || pattern === `*/${subresource}` : pattern === plural
}

/** A star counts at the end only. */
export const matchesUrl = (pattern: string, path: string): boolean =>
  pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, '')))
