import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { PolicyRule } from '../../auth/rbac/policy-rule.ts'
import { review } from './review.ts'

interface SelfSubjectRulesReview extends KubeObject {
  spec: { namespace?: string }
}

const unknown = { resourceRules: null, nonResourceRules: null, incomplete: false }

/**
 * Answers with all that the user may do in a namespace, as far as roles grant it. Throws a StatusError (400) without a
 * namespace. Upstream: pkg/registry/authorization/selfsubjectrulesreview.
 */
export const selfSubjectRulesReview = review<SelfSubjectRulesReview>(unknown, (object, { api, scope: { user } }) => {
  const { namespace } = object.spec
  if (!namespace) throw badRequest('no namespace on request')
  const rules: PolicyRule[] = []
  const errors: string[] = []
  for (const granted of api.access.rules.rulesFor(user, namespace)) {
    if ('error' in granted) errors.push(granted.error)
    else rules.push(granted.rule)
  }
  // Upstream answers with a new object.
  object.metadata = {}
  object.spec = {}
  object.status = {
    resourceRules: rules.filter(({ resources }) => resources?.length).map(resourceRule),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs?.length)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    // What a node may do is no matter of roles.
    incomplete: errors.length > 0 || user.groups.includes('system:nodes'),
    ...(errors.length > 0 && { evaluationError: errors.length > 1 ? `[${errors.join(', ')}]` : errors[0] }),
  }
})

const resourceRule = ({ verbs, apiGroups, resources, resourceNames }: PolicyRule) => ({
  verbs,
  apiGroups,
  resources,
  ...(resourceNames?.length && { resourceNames }),
})
