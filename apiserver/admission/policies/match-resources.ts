import { fromSelectorObject } from '../../../shared/api/selectors/label-selector.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { matchedDefinition } from '../webhooks/candidates.ts'
import { selectsNamespace, selectsObject } from '../webhooks/selectors.ts'
import type { MatchResources, NamedRule } from './policy.ts'

export interface MatchContext {
  lookup: Lookup
  /** Returns the other versions of the same resource. */
  siblings(definition: ResourceDefinition): readonly ResourceDefinition[]
}

/**
 * Returns the version of the resource in which a policy or binding matches a request; undefined if it does not match.
 * Throws a StatusError if this cannot be decided. Upstream: plugin/policy/matching.
 */
export function matchResources(
  match: MatchResources,
  attributes: AdmissionAttributes,
  { lookup, siblings }: MatchContext,
): ResourceDefinition | undefined {
  const { definition, name } = attributes
  const byRules = (rules: readonly NamedRule[] = []): ResourceDefinition | undefined => {
    const named = rules.filter(({ resourceNames = [] }) => resourceNames.length === 0 || resourceNames.includes(name))
    return matchedDefinition({ rules: named, matchPolicy: match.matchPolicy }, attributes, siblings)
  }
  if (!selectsObject(fromSelectorObject(match.objectSelector) ?? [], attributes)) return undefined
  const { resourceRules = [], excludeResourceRules } = match
  if (byRules(excludeResourceRules)) return undefined
  const matched = resourceRules.length === 0 ? definition : byRules(resourceRules)
  if (!matched || !selectsNamespace(fromSelectorObject(match.namespaceSelector) ?? [], attributes, lookup))
    return undefined
  return matched
}
