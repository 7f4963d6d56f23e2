import type { User } from '../kind/user.ts'
import type { NodeRelations } from './node-relations.ts'
import { answerNode } from './node-rules.ts'
import type { Authorizer } from './types.ts'

const nodeUserPrefix = 'system:node:'

/**
 * A kubelet (`system:node:<name>` in system:nodes) may read and report on its own node, the pods bound to it, and what
 * these pods refer to. What a request's body decides is left to the admission plugin NodeRestriction.
 */
export function createNodeAuthorizer(relations: NodeRelations): Authorizer {
  return {
    authorize(attributes) {
      const { user, resource } = attributes
      const nodeName = nodeNameOf(user)
      if (nodeName === undefined) return { verdict: 'no opinion' }
      if (nodeName === '')
        return { verdict: 'no opinion', reason: `unknown node for user ${JSON.stringify(user.name)}` }
      if (!resource) return { verdict: 'no opinion' }
      const answer = answerNode({ ...attributes, resource, nodeName, relations })
      if (answer === true) return { verdict: 'allow' }
      return { verdict: 'no opinion', ...(answer && { reason: answer }) }
    },
  }
}

/** The node that a user is the kubelet of; undefined for other users. Upstream: pkg/auth/nodeidentifier. */
export function nodeNameOf({ name, groups }: User): string | undefined {
  return name.startsWith(nodeUserPrefix) && groups.includes('system:nodes')
    ? name.slice(nodeUserPrefix.length)
    : undefined
}
