import { methodNotAllowed } from '../../../shared/api/status/status-errors.ts'
import type { ResourceDefinition, Verb } from '../../kind/resource-definition.ts'
import { type Handler, writing } from '../handler.ts'
import { createPodBinding } from '../subresources/binding.ts'
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from './access-reviews.ts'
import { getComponentStatus, listComponentStatuses } from './component-statuses.ts'
import { getNodeMetrics, getPodMetrics, listNodeMetrics, listPodMetrics } from './resource-metrics.ts'
import { selfSubjectReview } from './self-subject-review.ts'
import { selfSubjectRulesReview } from './self-subject-rules-review.ts'
import { tokenReview } from './token-review.ts'

/** Maps `<group>/<plural>` of resources that are not stored to their handlers. */
const handlers: Readonly<Record<string, Partial<Record<Verb, Handler>>>> = {
  '/bindings': { create: writing(createPodBinding) },
  '/componentstatuses': { get: getComponentStatus, list: listComponentStatuses },
  'authentication.k8s.io/selfsubjectreviews': { create: writing(selfSubjectReview) },
  'authentication.k8s.io/tokenreviews': { create: writing(tokenReview) },
  'authorization.k8s.io/localsubjectaccessreviews': { create: writing(localSubjectAccessReview) },
  'authorization.k8s.io/selfsubjectaccessreviews': { create: writing(selfSubjectAccessReview) },
  'authorization.k8s.io/selfsubjectrulesreviews': { create: writing(selfSubjectRulesReview) },
  'authorization.k8s.io/subjectaccessreviews': { create: writing(subjectAccessReview) },
  'metrics.k8s.io/nodes': { get: getNodeMetrics, list: listNodeMetrics },
  'metrics.k8s.io/pods': { get: getPodMetrics, list: listPodMetrics },
}

export function findVirtual({ group, plural }: ResourceDefinition, verb: Verb): Handler {
  const handler = handlers[`${group}/${plural}`]?.[verb]
  if (!handler) throw methodNotAllowed()
  return handler
}
