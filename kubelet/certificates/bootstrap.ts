import { X509Certificate } from 'node:crypto'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import { requestCertificate } from './request-certificate.ts'

export interface BootstrapOptions {
  /** Of somebody who may do nothing but ask for a certificate. */
  bootstrapKubeconfig: string
  /** Where the kubelet's own is kept, and found by the next start. */
  kubeconfig: string
  nodeName: string
  clock: Clock
  onError(error: unknown): void
}

const DAY_MS = 86_400_000
const RETRY_MS = 1_000
const NODES = 'system:nodes'

/**
 * TLS bootstrap: the kubelet's own credentials, asked for with those of a newcomer where there are none yet, or they end within a day.
 * Goes on trying while the API server cannot be reached. Upstream: pkg/kubelet/certificate/bootstrap.
 */
export async function bootstrapCredentials(options: BootstrapOptions): Promise<ClusterAccess> {
  const { clock, nodeName } = options
  if (isUsable(await known(options.kubeconfig), nodeName, clock.now())) return loadKubeconfig(options.kubeconfig)
  for (;;) {
    try {
      return await newCredentials(options)
    } catch (error) {
      options.onError(error)
      await clock.sleep(RETRY_MS)
    }
  }
}

async function newCredentials({
  bootstrapKubeconfig,
  kubeconfig: file,
  nodeName,
  clock,
}: BootstrapOptions): Promise<ClusterAccess> {
  const newcomer = await loadKubeconfig(bootstrapKubeconfig)
  const client = createRestClient({ ...newcomer, clock, userAgent: 'kubelet/v1.36.3' })
  try {
    const own = await requestCertificate(client, {
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      commonName: `system:node:${nodeName}`,
      organizations: [NODES],
    })
    const { server, ca = '' } = newcomer
    writePrivately(file, JSON.stringify(kubeconfig({ name: 'kubestage', server, ca, user: own })))
    return { ...newcomer, ...own }
  } finally {
    await client.close()
  }
}

async function known(file: string): Promise<Partial<KeyPair>> {
  return readIfExists(file) === undefined ? {} : await loadKubeconfig(file)
}

/** For this node, and for a day at least. */
export function isUsable({ cert }: Partial<KeyPair>, nodeName: string, nowMs: number): boolean {
  if (!cert) return false
  const { subject, validToDate } = new X509Certificate(cert)
  return subject.split('\n').includes(`CN=system:node:${nodeName}`) && validToDate.getTime() > nowMs + DAY_MS
}
