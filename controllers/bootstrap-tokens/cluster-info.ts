import type { ConfigMap } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { ensure } from '../server-objects/bootstrap.ts'

export const clusterInfoRef = { namespace: 'kube-public', name: 'cluster-info' }

/** Where a machine that joins finds the API server, and the certificate that it must have. */
export interface ServerAddress {
  url: string
  /** Holds the certificate in PEM. */
  ca: string
  /** Keeps another URL that is already there. */
  keepsUrl?: boolean
}

/**
 * Returns the kubeconfig that kubeadm writes, without users. A machine that joins reads it as an anonymous user and
 * checks its signature by its token.
 */
const kubeconfigOf = ({ url, ca }: Pick<ServerAddress, 'url' | 'ca'>): string =>
  `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
    server: ${url}
  name: ""
contexts: null
current-context: ""
kind: Config
preferences: {}
users: null
`

const isOfCa = (kubeconfig: string, ca: string): boolean =>
  kubeconfig.includes(`: ${Buffer.from(ca).toString('base64')}\n`)

/**
 * Makes the ConfigMap, or writes where the server is now. Upstream: cmd/kubeadm/app/phases/bootstraptoken/clusterinfo.
 */
export async function ensureClusterInfo(client: Client, server: ServerAddress): Promise<void> {
  const kubeconfig = kubeconfigOf(server)
  const known = await ensure<ConfigMap>(client, configMaps, { metadata: clusterInfoRef, data: { kubeconfig } })
  const before = known.data?.kubeconfig
  if (before === kubeconfig || (server.keepsUrl && before && isOfCa(before, server.ca))) return
  await client.patch(configMaps, clusterInfoRef, { data: { kubeconfig } })
}
