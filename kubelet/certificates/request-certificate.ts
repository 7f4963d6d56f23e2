import { X509Certificate } from 'node:crypto'
import type { V1CertificateSigningRequest } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { certificateSigningRequests } from '../../shared/client/resources.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { createSigningRequest, type SigningRequestOptions } from '../../shared/pki/signing-request.ts'

type Request = WithMeta<V1CertificateSigningRequest>

export interface WantedCertificate extends SigningRequestOptions {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet' | 'kubernetes.io/kubelet-serving'
}

export const nodeSubject = (nodeName: string) => ({
  commonName: `system:node:${nodeName}`,
  organizations: ['system:nodes'],
})

const usage = {
  'kubernetes.io/kube-apiserver-client-kubelet': 'client auth',
  'kubernetes.io/kubelet-serving': 'server auth',
}

/**
 * A certificate through the API: creates a request, and waits until it is approved and signed.
 * Rejects when it is denied or fails, or when `signal` aborts. Upstream: client-go/util/certificate/csr.
 */
export async function requestCertificate(
  client: Pick<Client, 'create' | 'watch'>,
  { signerName, ...wanted }: WantedCertificate,
  signal?: AbortSignal,
): Promise<KeyPair> {
  const { request, key } = createSigningRequest(wanted)
  const created = await client.create<Request>(certificateSigningRequests, {
    metadata: { generateName: 'csr-' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName,
      usages: ['digital signature', usage[signerName]],
    },
  })
  const { name = '' } = created.metadata
  for (;;) {
    const watch = client.watch<Request>(certificateSigningRequests, {
      fieldSelector: `metadata.name=${name}`,
      resourceVersion: created.metadata.resourceVersion,
      signal,
    })
    for await (const { type, object } of watch) {
      if (type === 'DELETED') throw new Error(`certificate request ${name} was deleted before it was signed`)
      const cert = certificateOf(object)
      if (cert) return { cert, key }
    }
    signal?.throwIfAborted()
  }
}

function certificateOf({ metadata, status }: Request): string | undefined {
  const no = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed')
  if (no) throw new Error(`certificate request ${metadata.name}: ${no.type}: ${no.message || no.reason}`)
  return status?.certificate && Buffer.from(status.certificate, 'base64').toString('latin1')
}

/** Returns true if the certificate names this node as its subject and is valid at `nowMs`. */
export function isValidFor(nodeName: string, { cert }: Partial<KeyPair>, nowMs: number): boolean {
  if (!cert) return false
  const { subject, validToDate } = new X509Certificate(cert)
  return subject.split('\n').includes(`CN=${nodeSubject(nodeName).commonName}`) && validToDate.getTime() > nowMs
}
