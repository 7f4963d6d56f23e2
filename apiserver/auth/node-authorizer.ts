import type { NodePods } from './node-pods.ts'
import { rulesAbout } from './node-rules.ts'
import type { Authorizer, Decision, User } from './types.ts'

const nodeUserPrefix = 'system:node:'

/**
 * A kubelet (`system:node:<name>` in system:nodes) may do what a kubelet does, to its own node, to the pods bound to it, and to
 * what these pods name. What upstream splits between this authorizer and the admission plugin NodeRestriction is one table here.
 */
export function createNodeAuthorizer(nodePods: NodePods): Authorizer {
  return {
    authorize({ user, verb, resource }) {
      const nodeName = nodeNameOf(user)
      if (!nodeName || !resource) return { verdict: 'no opinion' }
      const rule = rulesAbout(resource).find(({ verbs }) => verbs.includes(verb))
      if (!rule) return { verdict: 'no opinion' }
      const related = rule.relation({ nodeName, resource, nodePods })
      return typeof related === 'boolean' ? decide(related, nodeName) : related.then((is) => decide(is, nodeName))
    },
  }
}

function nodeNameOf({ name, groups }: User): string | undefined {
  if (!groups.includes('system:nodes') || !name.startsWith(nodeUserPrefix)) return undefined
  return name.slice(nodeUserPrefix.length)
}

function decide(related: boolean, nodeName: string): Decision {
  if (related) return { verdict: 'allow' }
  return { verdict: 'no opinion', reason: `no relationship found between node '${nodeName}' and this object` }
}
