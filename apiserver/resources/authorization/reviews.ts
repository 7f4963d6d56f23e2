/** Questions that are asked by creating them: nothing is stored. */
import type { ObjectMeta } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { plain } from '../parts/plain.ts'

interface Review {
  metadata: ObjectMeta
  spec?: object
  status?: object
}

const authentication = 'authentication.k8s.io'
const authorization = 'authorization.k8s.io'

const review = (
  group: string,
  kind: string,
  { spec, namespaced = false }: { spec?: object; namespaced?: boolean },
) => ({
  ...plain<Review>({
    group,
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced,
    verbs: ['create'],
    example: { metadata: {}, ...(spec && { spec }) },
  }),
  virtual: true,
  // It may be about a namespace that is not there.
  outlivesNamespace: true,
})

const mayListPods = { resourceAttributes: { namespace: 'default', verb: 'list', resource: 'pods' } }

export const reviews: ResourceDefinition[] = [
  review(authentication, 'SelfSubjectReview', {}),
  review(authentication, 'TokenReview', { spec: { token: 'x' } }),
  review(authorization, 'LocalSubjectAccessReview', { spec: { ...mayListPods, user: 'jane' }, namespaced: true }),
  review(authorization, 'SelfSubjectAccessReview', { spec: mayListPods }),
  review(authorization, 'SelfSubjectRulesReview', { spec: { namespace: 'default' } }),
  review(authorization, 'SubjectAccessReview', { spec: { ...mayListPods, user: 'jane' } }),
]
