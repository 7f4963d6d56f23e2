import { isIP } from 'node:net'
import { ipBytes } from '../../shared/pki/ip-bytes.ts'
import type { SigningRequest } from '../../shared/pki/signing-request.ts'
import { nodeClientRefusal, nodeServingRefusal } from './signers.ts'

/** Who asks, as the API server wrote it into the request. */
export interface Requestor {
  username?: string
  groups?: readonly string[]
}

/** The node that a certificate to serve with is for, as it is registered. */
export interface RegisteredNode {
  name: string
  /** Those that its status reports. */
  addresses: readonly string[]
}

const BOOTSTRAPPERS = 'system:bootstrappers'
const NODES = 'system:nodes'

/**
 * The message with which a request is approved by itself; undefined leaves it to a person.
 * A joining kubelet gets its first certificate, a node a new one for itself; beyond upstream, a node also one to serve with, for its own name and addresses.
 * Upstream: pkg/controller/certificates/approver/sarapprove.go.
 */
export function approvalMessage(
  signerName: string,
  request: SigningRequest,
  usages: readonly string[],
  { username, groups = [] }: Requestor,
  node?: RegisteredNode,
): string | undefined {
  const isItself = groups.includes(NODES) && username === request.commonName
  if (signerName === 'kubernetes.io/kube-apiserver-client-kubelet' && !nodeClientRefusal(request, usages)) {
    if (isItself) return 'Auto approving self kubelet client certificate after SubjectAccessReview.'
    if (groups.includes(BOOTSTRAPPERS)) return 'Auto approving kubelet client certificate after SubjectAccessReview.'
  }
  if (
    signerName === 'kubernetes.io/kubelet-serving' &&
    !nodeServingRefusal(request, usages) &&
    isItself &&
    isFor(node, request)
  )
    return 'Auto approving kubelet serving certificate of the node that asks.'
  return undefined
}

/** Names that clients of the API server or of Services trust: also a node that bears one gets no certificate for it. */
const reserved = /^localhost$|^kubernetes(\.default)?$|\.svc$|\.cluster\.local$/

function isFor(node: RegisteredNode | undefined, { dnsNames, ipAddresses }: SigningRequest): boolean {
  if (node === undefined) return false
  // A node reports host names among its addresses.
  const addresses = node.addresses.filter((address) => isIP(address)).map((address) => ipBytes(address).toString('hex'))
  return (
    dnsNames.every((name) => name === node.name && !reserved.test(name)) &&
    ipAddresses.every((address) => addresses.includes(address))
  )
}
