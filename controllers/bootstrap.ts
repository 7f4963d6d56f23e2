import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { ignoreNotFound } from '../shared/api/status-error.ts'
import type { Namespace, ObjectMeta, Service } from '../shared/api/types.ts'
import type { EndpointSlice, Endpoints } from '../shared/api/workloads.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import { endpointSlices, endpoints, namespaces, services } from '../shared/client/resources.ts'
import { ensureServerConfigMaps } from './server-config-maps.ts'

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** The port under which clients outside reach the server, and the first address of the service range. */
export interface KubernetesServiceOptions {
  securePort: number
  clusterIP: string
  /** Where the server listens: an address, or a name of this machine. */
  host: string
  /** PEM; whose client certificates the server accepts. */
  clientCa: string
  nowMs: number
}

/** Makes sure of what every cluster has from its first moment: the system namespaces the `kubernetes` Service, which leads to our port, and what the server says of itself. */
export async function bootstrap(client: Client, options: KubernetesServiceOptions): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensure<Namespace>(client, namespaces, { metadata: { name } })
  const desired = kubernetesService(options)
  const { spec } = await ensure(client, services, desired)
  const { namespace, name = '' } = desired.metadata
  if (spec?.ports?.[0]?.targetPort !== options.securePort) {
    await client.patch(services, { namespace, name }, { spec: { ports: desired.spec?.ports } })
  }
  await Promise.all([
    ensureSame(client, endpoints, kubernetesEndpoints(options)),
    ensureSame(client, endpointSlices, kubernetesSlice(options)),
    ensureServerConfigMaps(client, options),
  ])
}

/** Upstream: pkg/controlplane/reconcilers. They are not mirrored: the server keeps the slice, too. */
const kubernetesEndpoints = (options: KubernetesServiceOptions): Endpoints => ({
  metadata: {
    name: 'kubernetes',
    namespace: 'default',
    labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
  },
  subsets: [
    {
      addresses: [{ ip: advertised(options.host) }],
      ports: [{ name: 'https', port: options.securePort, protocol: 'TCP' }],
    },
  ],
})

function kubernetesSlice(options: KubernetesServiceOptions): EndpointSlice {
  const address = advertised(options.host)
  return {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'kubernetes' },
    },
    addressType: isIP(address) === 6 ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', port: options.securePort, protocol: 'TCP' }],
  }
}

/** One address at which this machine's clients reach a server that listens at `host`. */
const advertised = (host: string): string => (isIP(host) > 0 && !/^[0:.]+$/.test(host) ? host : '127.0.0.1')

/** Creates the object, or writes over one that says something else, e.g. after a restart on another port. */
async function ensureSame<T extends Endpoints | EndpointSlice>(
  client: Client,
  resource: Resource,
  wanted: T,
): Promise<void> {
  const known = await ensure<T>(client, resource, wanted)
  const { metadata, ...content } = wanted
  const isSame = Object.entries(content).every(([field, value]) => isDeepStrictEqual(known[field as keyof T], value))
  if (isSame && isDeepStrictEqual(known.metadata.labels, metadata.labels)) return
  const { namespace, name = '' } = metadata
  // The type of a slice's addresses cannot change.
  const { addressType } = wanted as Partial<EndpointSlice>
  if (addressType !== (known as Partial<EndpointSlice>).addressType) {
    await client.delete(resource, { namespace, name })
    await client.create<T>(resource, wanted)
  } else await client.update<T>(resource, { ...wanted, metadata: { ...known.metadata, labels: metadata.labels } })
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
