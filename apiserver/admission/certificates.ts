import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { readRequestedSubject } from '../../shared/pki/signing-request.ts'
import type { Access } from '../auth/access.ts'
import type { User } from '../kind/user.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'
import { deepEqual } from '../values/deep-equal.ts'

const group = 'certificates.k8s.io'
const clientSigner = 'kubernetes.io/kube-apiserver-client'

interface SigningRequest extends KubeObject {
  spec: { signerName: string; request?: string }
  status?: { certificate?: string; conditions?: unknown[] }
}

const isAbout = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === group && definition.plural === 'certificatesigningrequests'

/**
 * Approving a request needs a permission for its signer, or for all signers of its domain.
 * Upstream of this file: plugin/pkg/admission/certificates.
 */
export const certificateApproval = (access: Access): AdmissionPlugin => ({
  validate(attributes) {
    const { operation, subresource } = attributes
    if (isAbout(attributes) && operation === 'UPDATE' && subresource === 'approval')
      return mustBeAllowed(access, 'approve', attributes)
  },
})

/** Signing a request needs a permission for its signer, or for all signers of its domain. */
export const certificateSigning = (access: Access): AdmissionPlugin => ({
  validate(attributes) {
    const { operation, subresource, object, old } = attributes
    if (!isAbout(attributes) || operation !== 'UPDATE' || subresource !== 'status') return
    if (!isSameStatus(object as SigningRequest, old as SigningRequest)) return mustBeAllowed(access, 'sign', attributes)
  },
})

/** Refuses certificates for `system:masters`. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  validate(attributes) {
    const { operation, subresource, object, definition, name } = attributes
    if (!isAbout(attributes) || operation !== 'CREATE' || subresource) return
    const { signerName, request = '' } = (object as SigningRequest).spec
    if (signerName !== clientSigner || !organizationsOf(request).includes('system:masters')) return
    throw forbidden(definition, name, `use of ${clientSigner} signer with system:masters group is not allowed`)
  },
}

/** `request` is base64 of PEM. What is no request has none. */
function organizationsOf(request: string): string[] {
  try {
    return readRequestedSubject(Buffer.from(request, 'base64').toString('latin1')).organizations
  } catch {
    return []
  }
}

async function mustBeAllowed(
  access: Access,
  verb: string,
  { definition, user, old, name }: AdmissionAttributes,
): Promise<void> {
  const { signerName } = (old as SigningRequest).spec
  if (await isAllowed(access, user, verb, signerName)) return
  const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`
  throw forbidden(definition, name, why)
}

const isSameStatus = ({ status: now = {} }: SigningRequest, { status: before = {} }: SigningRequest): boolean =>
  now.certificate === before.certificate && deepEqual(now.conditions ?? [], before.conditions ?? [])

/** A permission for `example.com/*` is one for all signers of the domain. */
async function isAllowed(access: Access, user: User, verb: string, signerName: string): Promise<boolean> {
  const [domain = ''] = signerName.split('/')
  for (const name of [signerName, `${domain}/*`]) {
    const { verdict } = await access.decide({ user, verb, path: '', resource: { group, resource: 'signers', name } })
    if (verdict === 'allow') return true
  }
  return false
}
