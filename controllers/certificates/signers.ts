import type { SigningRequest } from '../../shared/pki/signing-request.ts'

/**
 * Holds the rules of a signer. A refusal is the message of the request's Failed condition. Upstream:
 * pkg/controller/certificates/signer and certificates/helpers.
 */
export interface Signer {
  refusal(request: SigningRequest, usages: readonly string[]): string | undefined
}

const KEY_USES = ['digital signature', 'key encipherment']
const NODE_PREFIX = 'system:node:'

export const signers: Record<string, Signer> = {
  'kubernetes.io/kube-apiserver-client': {
    refusal: (_request, usages) => usagesRefusal(usages, ['client auth'], [...KEY_USES, 'client auth']),
  },
  'kubernetes.io/kube-apiserver-client-kubelet': { refusal: nodeClientRefusal },
  'kubernetes.io/kubelet-serving': { refusal: nodeServingRefusal },
  'kubernetes.io/legacy-unknown': { refusal: () => undefined },
}

export function nodeClientRefusal(request: SigningRequest, usages: readonly string[]): string | undefined {
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (request.otherNames > 0) return 'URI and email subjectAltNames are not allowed'
  return (
    nodeSubjectRefusal(request) ??
    usagesRefusal(usages, ['client auth', 'digital signature'], [...KEY_USES, 'client auth'])
  )
}

export function nodeServingRefusal(request: SigningRequest, usages: readonly string[]): string | undefined {
  if (request.dnsNames.length + request.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required'
  if (request.otherNames > 0) return 'URI and email subjectAltNames are not allowed'
  return (
    nodeSubjectRefusal(request) ??
    usagesRefusal(usages, ['server auth', 'digital signature'], [...KEY_USES, 'server auth'])
  )
}

function nodeSubjectRefusal({ commonName, organizations }: SigningRequest): string | undefined {
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return 'subject organization is not system:nodes'
  return commonName.startsWith(NODE_PREFIX) ? undefined : `subject common name does not begin with ${NODE_PREFIX}`
}

function usagesRefusal(
  usages: readonly string[],
  required: readonly string[],
  allowed: readonly string[],
): string | undefined {
  const fits = required.every((usage) => usages.includes(usage)) && usages.every((usage) => allowed.includes(usage))
  return fits ? undefined : `usages did not match [${allowed.join(' ')}]`
}
