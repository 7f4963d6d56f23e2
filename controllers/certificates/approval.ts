import { isIP } from 'node:net'
import { ipBytes } from '../../shared/pki/ip-bytes.ts'
import type { SigningRequest } from '../../shared/pki/signing-request.ts'
import { nodeClientRefusal, nodeServingRefusal } from './signers.ts'

/** The requesting user, as the API server wrote it into the request. */
export interface Requestor {
  username?: string
  uid?: string
  groups?: readonly string[]
  extra?: Record<string, string[]>
}

/** The node that a certificate to serve with is for, as it is registered. */
export interface RegisteredNode {
  name: string
  /** Lists the addresses that the node's status reports. */
  addresses: readonly string[]
}

/** A ground on which a request is approved without a person. */
export interface Approval {
  /**
   * The subresource of certificatesigningrequests that the requestor must be allowed to create. Absent: nothing is
   * asked.
   */
  permission?: 'selfnodeclient' | 'nodeclient'
  message: string
}

const NODES = 'system:nodes'

/**
 * Returns the grounds on which a request may be approved. If there are none, a person decides. A joining kubelet may
 * get its first certificate, and a node a renewed one. Beyond upstream, a node may also get a serving certificate for
 * its own name and addresses. Upstream: pkg/controller/certificates/approver/sarapprove.go.
 */
export function approvals(
  signerName: string,
  request: SigningRequest,
  usages: readonly string[],
  { username, groups = [] }: Requestor,
  node?: RegisteredNode,
): Approval[] {
  const isItself = username === request.commonName
  if (signerName === 'kubernetes.io/kube-apiserver-client-kubelet' && !nodeClientRefusal(request, usages))
    return [...(isItself ? [renewal] : []), firstCertificate]
  if (signerName !== 'kubernetes.io/kubelet-serving' || nodeServingRefusal(request, usages)) return []
  return isItself && groups.includes(NODES) && isFor(node, request) ? [serving] : []
}

const renewal: Approval = {
  permission: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
}
const firstCertificate: Approval = {
  permission: 'nodeclient',
  message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
}
const serving: Approval = { message: 'Auto approving kubelet serving certificate of the node that asks.' }

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
