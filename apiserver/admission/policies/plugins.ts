import type { Lookup, LookupAll } from '../../kind/lookup.ts'
import type { AdmissionPlugin } from '../../registry/admission-plugin.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { Candidates } from '../webhooks/candidates.ts'
import type { WebhooksContext } from '../webhooks/plugins.ts'
import type { Rule } from '../webhooks/webhook.ts'
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from './policy.ts'
import { type BoundPolicy, validatingPolicies } from './validating.ts'

export interface PoliciesContext {
  limits: WorkLimits
  lookup: Lookup
  lookupAll: LookupAll
  follow: WebhooksContext['follow']
  catalog: WebhooksContext['catalog']
}

/** Where no rules say which. */
const everything: Rule[] = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]

/** Policies that have a binding, by name. */
function boundPolicies(
  policies: Iterable<ValidatingAdmissionPolicy>,
  bindings: readonly ValidatingAdmissionPolicyBinding[],
): BoundPolicy[] {
  return [...policies].flatMap((policy) => {
    const { name } = policy.metadata
    const { resourceRules = [], matchPolicy } = policy.spec.matchConstraints ?? {}
    const bound = bindings.filter(({ spec }) => spec.policyName === name)
    const rules = resourceRules.length > 0 ? resourceRules : everything
    return bound.length > 0 ? [{ policy, bindings: bound, rules, matchPolicy }] : []
  })
}

export function policyPlugins({ limits, lookup, lookupAll, follow, catalog }: PoliciesContext): {
  ValidatingAdmissionPolicy: AdmissionPlugin
} {
  const policies = follow('validatingadmissionpolicies')
  const bindings = follow('validatingadmissionpolicybindings')
  const { siblings } = catalog
  const candidates = new Candidates({
    version: () => policies.version() + bindings.version() + catalog.generation,
    all: () =>
      boundPolicies(policies.objects() as Iterable<ValidatingAdmissionPolicy>, [
        ...(bindings.objects() as Iterable<ValidatingAdmissionPolicyBinding>),
      ]),
    siblings,
  })
  const definitions = () => catalog.definitions()
  const context = { limits, lookup, lookupAll, siblings, definitions, candidates }
  return { ValidatingAdmissionPolicy: validatingPolicies(context) }
}
