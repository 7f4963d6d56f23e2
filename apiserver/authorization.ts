import { pods } from '../shared/client/resources.ts'
import { type Access, createAccess } from './auth/access.ts'
import { createNodeAuthorizer } from './auth/node-authorizer.ts'
import { nodeRelations } from './auth/node-relations.ts'
import { createRbacAuthorizer } from './auth/rbac/rbac-authorizer.ts'
import { createRuleResolver } from './auth/rbac/rule-resolver.ts'
import { superuser } from './auth/superuser.ts'
import type { Authorizer } from './auth/types.ts'
import type { ObjectCaches } from './registry/object-caches.ts'

export interface Authorization {
  /** Lists the authorizers in the order in which the server asks them. */
  authorizers: readonly Authorizer[]
  access: Access
}

const everything: Authorizer = { authorize: () => ({ verdict: 'allow' }) }

/** `--authorization-mode=Node,RBAC`, and `AlwaysAllow` behind them. */
export function authorizationBy(
  objects: ObjectCaches,
  { alwaysAllow = false }: { alwaysAllow?: boolean },
): Authorization {
  const { lookup, lookupAll } = objects
  const rules = createRuleResolver(lookup, lookupAll)
  const relations = nodeRelations({
    lookup,
    podsOf: (nodeName, namespace) => objects.lookupBy(pods, namespace, { field: 'spec.nodeName', value: nodeName }),
    volumes: () => lookupAll({ group: '', plural: 'persistentvolumes' }),
  })
  const authorizers = [superuser, createNodeAuthorizer(relations), createRbacAuthorizer(rules)]
  if (alwaysAllow) authorizers.push(everything)
  return { authorizers, access: createAccess(authorizers, rules) }
}
