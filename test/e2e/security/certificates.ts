import { createSigningRequest } from '../../../shared/pki/signing-request.ts'
import { until } from '../../harness/until.ts'
import type { Asker, Question } from './ask.ts'
import { post } from './stage.ts'

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

export interface Wanted {
  commonName: string
  organizations?: string[]
  altNames?: string[]
  signer: 'kube-apiserver-client-kubelet' | 'kubelet-serving' | 'kube-apiserver-client'
}

export function signingRequest(name: string, { commonName, organizations = [], altNames, signer }: Wanted): Question {
  const { request } = createSigningRequest({ commonName, organizations, ...(altNames && { altNames }) })
  const usage = signer === 'kubelet-serving' ? 'server auth' : 'client auth'
  return post(path, {
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: `kubernetes.io/${signer}`,
      usages: ['digital signature', usage],
    },
  })
}

/** The names of those that got a certificate, when `last`, which is due one and was asked for last, has got its own. */
export async function issued(admin: Asker, last: string): Promise<string[]> {
  type Request = { metadata: { name: string }; status?: { certificate?: string } }
  return until(
    async () => {
      const { items } = JSON.parse((await admin.ask({ path })).body) as { items: Request[] }
      const names = items.filter(({ status }) => status?.certificate).map(({ metadata }) => metadata.name)
      return names.includes(last) ? names : undefined
    },
    { what: `the certificate of ${last}` },
  )
}
