import { isStatus } from '../shared/api/status-error.ts'
import type { Namespace, Service } from '../shared/api/types.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import { namespaces, services } from '../shared/client/resources.ts'

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** The port under which clients outside reach the server, and the first address of the service range. */
export interface KubernetesServiceOptions {
  securePort: number
  clusterIP: string
}

/** Creates what every cluster has from its first moment: the system namespaces and the `kubernetes` Service. */
export async function bootstrap(client: Client, options: KubernetesServiceOptions): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensure<Namespace>(client, namespaces, { metadata: { name } })
  await ensure<Service>(client, services, kubernetesService(options))
}

function kubernetesService({ securePort, clusterIP }: KubernetesServiceOptions): Service {
  return {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
      sessionAffinity: 'None',
    },
  }
}

async function ensure<T extends object>(client: Client, resource: Resource, object: T): Promise<void> {
  try {
    await client.create<T>(resource, object)
  } catch (error) {
    if (!isStatus(error, 'AlreadyExists')) throw error
  }
}
