/** Matches requests with the rules of webhooks and policies. Upstream: webhook/predicates/rules. */
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import type { Rule } from './webhook.ts'

/** Describes the resource of a request, or of an equivalent request in another version. */
export interface MatchedResource {
  group: string
  version: string
  plural: string
  subresource: string
  /** Says whether objects live in namespaces; it is false for Namespaces themselves. */
  namespaced: boolean
  operation: AdmissionAttributes['operation']
}

export function matchesRule(rule: Rule, resource: MatchedResource): boolean {
  const { group, version, operation } = resource
  return (
    matchesScope(rule, resource) &&
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, group) &&
    includes(rule.apiVersions, version) &&
    rule.resources.some((pattern) => matchesResource(pattern, resource))
  )
}

const includes = (wanted: readonly string[], value: string): boolean => wanted.includes('*') || wanted.includes(value)

function matchesScope({ scope = '*' }: Rule, { namespaced }: MatchedResource): boolean {
  return scope === '*' || namespaced === (scope === 'Namespaced')
}

// A pattern is `pods` or `pods/status`; a star stands for any resource, or behind the slash for any subresource and for
// none.
function matchesResource(pattern: string, { plural, subresource }: MatchedResource): boolean {
  const slash = pattern.indexOf('/')
  const [resource, sub] = slash === -1 ? [pattern, ''] : [pattern.slice(0, slash), pattern.slice(slash + 1)]
  return (resource === '*' || resource === plural) && (sub === '*' || sub === subresource)
}

const policies = new Set([
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
])

/** Webhooks do not apply to webhook configurations and policies, so that a mistake in these can be undone. */
export const isExempt = ({ definition: { group, plural } }: AdmissionAttributes): boolean =>
  group === 'admissionregistration.k8s.io' && policies.has(plural)
