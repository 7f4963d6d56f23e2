import { forbidden } from '../../../shared/api/status/status-errors.ts'
import type { Access } from '../../auth/access.ts'
import { nodeNameOf } from '../../auth/node-authorizer.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission-plugin.ts'
import { claimStatus, node } from './node-fields.ts'
import { csiNode, csr, lease, resourceSlice, termination } from './node-objects.ts'
import type { NodeRule } from './node-rule.ts'
import { createPod, deletePod, evictPod, podStatus } from './pods.ts'
import { token } from './token.ts'

/** By `resource.group/subresource`; the first key with, the second without the subresource. */
const rules = new Map<string, NodeRule>([
  ['pods', (write) => (write.operation === 'CREATE' ? createPod(write) : deletePod(write))],
  ['pods/status', podStatus],
  ['pods/eviction', evictPod],
  ['nodes', node],
  ['nodes/status', node],
  ['persistentvolumeclaims/status', claimStatus],
  ['serviceaccounts/token', token],
  ['leases.coordination.k8s.io', lease],
  ['csinodes.storage.k8s.io', csiNode],
  ['resourceslices.resource.k8s.io', resourceSlice],
  ['certificatesigningrequests.certificates.k8s.io', csr],
  ['terminations.kubestage.dev', termination],
])

/**
 * Limits what a node's kubelet writes to its own node, the pods bound to it and their objects: the node authorizer
 * cannot see a request's body. Upstream: plugin/pkg/admission/noderestriction.
 */
export function nodeRestriction(lookup: Lookup, access: Access): AdmissionPlugin {
  return {
    asksAll: true,
    admit(attributes) {
      const { user, definition, subresource, operation } = attributes
      const nodeName = nodeNameOf(user)
      if (nodeName === undefined || operation === 'CONNECT') return
      const refuse = (why: string | undefined): void => {
        if (why !== undefined) throw forbidden(definition, nameIn(attributes), why)
      }
      if (nodeName === '') return refuse(`could not determine node from user ${JSON.stringify(user.name)}`)
      const { group, plural } = definition
      const resource = group ? `${plural}.${group}` : plural
      const rule = rules.get(subresource ? `${resource}/${subresource}` : resource)
      const answer = rule?.({ ...attributes, nodeName, lookup, access })
      return answer instanceof Promise ? answer.then(refuse) : refuse(answer)
    },
  }
}

/** As messages have it, also of an object whose name is yet to be generated. */
const nameIn = ({ name, object }: AdmissionAttributes): string =>
  name || object?.metadata?.name || object?.metadata?.generateName || ''
