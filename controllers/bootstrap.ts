import { ignoreNotFound } from '../shared/api/status-error.ts'
import type { Namespace, ObjectMeta, Service } from '../shared/api/types.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import { namespaces, services } from '../shared/client/resources.ts'

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** The port under which clients outside reach the server, and the first address of the service range. */
export interface KubernetesServiceOptions {
  securePort: number
  clusterIP: string
}

/** Makes sure of what every cluster has from its first moment: the system namespaces and the `kubernetes` Service, which leads to our port. */
export async function bootstrap(client: Client, options: KubernetesServiceOptions): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensure<Namespace>(client, namespaces, { metadata: { name } })
  const desired = kubernetesService(options)
  const { spec } = await ensure(client, services, desired)
  if (spec?.ports?.[0]?.targetPort === options.securePort) return
  const { namespace, name = '' } = desired.metadata
  await client.patch(services, { namespace, name }, { spec: { ports: desired.spec?.ports } })
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

/** What there is by that name; created when there is nothing. */
export async function ensure<T extends { metadata: ObjectMeta }>(
  client: Client,
  resource: Resource,
  object: T,
): Promise<T> {
  const { namespace, name = '' } = object.metadata
  const known = await client.get<T>(resource, { namespace, name }).catch(ignoreNotFound)
  return known ?? client.create<T>(resource, object)
}
