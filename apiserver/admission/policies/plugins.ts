import type { KubeObject } from '../../../shared/api/types.ts'
import type { Access } from '../../auth/access.ts'
import type { Lookup, LookupAll } from '../../kind/lookup.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionPlugin } from '../../registry/admission-plugin.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { Candidates } from '../webhooks/candidates.ts'
import type { WebhooksContext } from '../webhooks/plugins.ts'
import type { Rule } from '../webhooks/webhook.ts'
import { mutatingPolicies } from './mutating.ts'
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from './policy.ts'
import { validatingPolicies } from './validating.ts'

export interface PoliciesContext {
  limits: WorkLimits
  lookup: Lookup
  lookupAll: LookupAll
  access: Access
  follow: WebhooksContext['follow']
  catalog: WebhooksContext['catalog']
  applyDefaults(definition: ResourceDefinition, object: KubeObject): void
}

/** Matches every request; it stands for rules that are not given. */
const everything: Rule[] = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]

const byName = (one: KubeObject, other: KubeObject): number =>
  (one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1

/** Policies that have a binding, by name, each with its bindings by name. */
function boundPolicies<
  P extends KubeObject & { spec: { matchConstraints?: MatchResources } },
  B extends KubeObject & { spec: { policyName: string } },
>(policies: Iterable<P>, bindings: Iterable<B>) {
  const sorted = [...bindings].sort(byName)
  return [...policies].sort(byName).flatMap((policy) => {
    const { name } = policy.metadata
    const { resourceRules = [], matchPolicy } = policy.spec.matchConstraints ?? {}
    const bound = sorted.filter(({ spec }) => spec.policyName === name)
    const rules = resourceRules.length > 0 ? resourceRules : everything
    return bound.length > 0 ? [{ policy, bindings: bound, rules, matchPolicy }] : []
  })
}

/** Finds the bound policies of a kind that match a request. */
function candidatesOf<
  P extends KubeObject & { spec: { matchConstraints?: MatchResources } },
  B extends KubeObject & { spec: { policyName: string } },
>({ follow, catalog }: PoliciesContext, kind: 'validating' | 'mutating') {
  const policies = follow(`${kind}admissionpolicies`)
  const bindings = follow(`${kind}admissionpolicybindings`)
  return new Candidates({
    version: () => policies.version() + bindings.version() + catalog.generation,
    all: () => boundPolicies(policies.objects() as Iterable<P>, bindings.objects() as Iterable<B>),
    siblings: catalog.siblings,
  })
}

export function policyPlugins(
  context: PoliciesContext,
): Record<'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy', AdmissionPlugin> {
  const { limits, lookup, lookupAll, access, catalog, applyDefaults } = context
  const common = {
    limits,
    lookup,
    lookupAll,
    access,
    siblings: catalog.siblings,
    definitions: () => catalog.definitions(),
  }
  return {
    MutatingAdmissionPolicy: mutatingPolicies({
      ...common,
      applyDefaults,
      candidates: candidatesOf<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding>(context, 'mutating'),
    }),
    ValidatingAdmissionPolicy: validatingPolicies({
      ...common,
      candidates: candidatesOf<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding>(context, 'validating'),
    }),
  }
}
