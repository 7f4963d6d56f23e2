import type { SigningRequest } from '../../shared/pki/signing-request.ts'
import { nodeClientRefusal, nodeServingRefusal } from './signers.ts'

/** Who asks, as the API server wrote it into the request. */
export interface Requestor {
  username?: string
  groups?: readonly string[]
}

const BOOTSTRAPPERS = 'system:bootstrappers'
const NODES = 'system:nodes'

/**
 * The message with which a request is approved by itself; undefined leaves it to a person.
 * A joining kubelet gets its first certificate, a node a new one for itself; beyond upstream, a node also one to serve with, since nobody is there to approve it.
 * Upstream: pkg/controller/certificates/approver/sarapprove.go.
 */
export function approvalMessage(
  signerName: string,
  request: SigningRequest,
  usages: readonly string[],
  { username, groups = [] }: Requestor,
): string | undefined {
  const isItself = groups.includes(NODES) && username === request.commonName
  if (signerName === 'kubernetes.io/kube-apiserver-client-kubelet' && !nodeClientRefusal(request, usages)) {
    if (isItself) return 'Auto approving self kubelet client certificate after SubjectAccessReview.'
    if (groups.includes(BOOTSTRAPPERS)) return 'Auto approving kubelet client certificate after SubjectAccessReview.'
  }
  if (signerName === 'kubernetes.io/kubelet-serving' && !nodeServingRefusal(request, usages) && isItself)
    return 'Auto approving kubelet serving certificate of the node that asks.'
  return undefined
}
