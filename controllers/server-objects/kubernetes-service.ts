import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { advertisedAddress, serverAddressAnnotation, serverLeaseSelector } from '../../shared/api/server-address.ts'
import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import { ignoreNotFound, ignoring } from '../../shared/api/status/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads/workloads.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { endpointSlices, endpoints, leases, services } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { Metadata } from '../informers/informers.ts'
import { createLoopQueue } from '../loop-queue.ts'

/** The port under which clients outside reach the server, and the first address of the service range. */
export interface KubernetesServiceOptions {
  securePort: number
  clusterIP: string
  /** Where the server listens: an address, or a name of this machine. */
  host: string
  /** Other servers have the same objects: each keeps its own address among the endpoints. */
  isShared?: boolean
}

const namespace = 'default'
const name = 'kubernetes'
const SKIP_MIRROR = 'endpointslice.kubernetes.io/skip-mirror'

/** The `kubernetes` Service leads to the server: made, or corrected, when the server starts. */
export async function ensureKubernetesService(client: Client, options: KubernetesServiceOptions): Promise<void> {
  const wanted = serviceOf(options)
  const known = await find<Service>(client, services)
  if (!known) await client.create<Service>(services, wanted).catch(ignoring('AlreadyExists'))
  else if (known.spec?.ports?.[0]?.targetPort !== options.securePort) {
    await client.patch(services, { namespace, name }, { spec: { ports: wanted.spec?.ports } })
  }
  await ensureEndpoints(client, options, { withPorts: true })
}

/**
 * Brings the Service, its Endpoints and its EndpointSlice back when they are deleted or changed. As upstream, a change
 * of the Service stays until the server starts again, and so does one of the Endpoints' ports, which the slice follows.
 * The address of a server that was killed goes with its Lease. Upstream, every ten seconds:
 * pkg/controlplane/controller/kubernetesservice, pkg/controlplane/reconcilers.
 */
export function startKubernetesService(
  { client, informers, clock, log }: ControllerContext,
  options: KubernetesServiceOptions,
): Controller {
  const changed = (): void => queue.add(name)
  for (const resource of [services, endpoints, endpointSlices]) {
    informers.selected<Metadata>(resource, {
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      handlers: [{ onUpdate: changed, onDelete: changed }],
    })
  }
  const servers = options.isShared
    ? informers.selected<Metadata>(leases, {
        selection: { namespace: 'kube-system', labelSelector: serverLeaseSelector },
        handlers: [{ onAdd: changed, onDelete: changed }],
      })
    : undefined
  const queue = createLoopQueue(
    { clock, log, loop: 'kubernetes-service', object: () => 'Service default/kubernetes' },
    async () => {
      if (!(await find(client, services))) {
        await client.create<Service>(services, serviceOf(options)).catch(ignoring('AlreadyExists'))
      }
      const present = servers && addressesOf([...servers.list()])
      await ensureEndpoints(client, options, { withPorts: false, present })
    },
  )
  return {
    async close() {
      await queue.close()
      if (options.isShared)
        await leaveEndpoints(client, options).catch((err) => log.debug({ err }, 'endpoints were kept'))
    },
  }
}

/** Returns the addresses of servers whose Leases have not ended; undefined if one does not tell its address. */
function addressesOf(servers: readonly Metadata[]): string[] | undefined {
  const addresses = servers.map(({ metadata }) => metadata.annotations?.[serverAddressAnnotation])
  return addresses.includes(undefined) || addresses.length === 0 ? undefined : (addresses as string[])
}

/** A server that ends takes its address back, unless it is the last one. */
async function leaveEndpoints(client: Client, { host }: KubernetesServiceOptions): Promise<void> {
  const known = await find<Endpoints>(client, endpoints)
  const [subset] = known?.subsets ?? []
  const others = (subset?.addresses ?? []).filter(({ ip }) => ip !== advertisedAddress(host))
  if (!known || others.length === 0) return
  const wanted = { ...known, subsets: [{ ...subset, addresses: others }] }
  await client.update<Endpoints>(endpoints, wanted).catch(changedMeanwhile)
  await ensureSlice(client, sliceOf(wanted))
}

async function ensureEndpoints(
  client: Client,
  options: KubernetesServiceOptions,
  changes: { withPorts: boolean; present?: readonly string[] },
): Promise<void> {
  const known = await find<Endpoints>(client, endpoints)
  const wanted = endpointsOf(known, options, changes)
  if (!known) await client.create<Endpoints>(endpoints, wanted).catch(ignoring('AlreadyExists'))
  else if (!isDeepStrictEqual(known, wanted)) await client.update<Endpoints>(endpoints, wanted).catch(changedMeanwhile)
  await ensureSlice(client, sliceOf(wanted))
}

/**
 * Returns the new Endpoints, given the present ones. They are not mirrored: the server keeps the slice, too. `present`:
 * the addresses of all servers that are there; absent: those that the Endpoints name are kept.
 */
function endpointsOf(
  known: Endpoints | undefined,
  { host, securePort, isShared }: KubernetesServiceOptions,
  { withPorts, present }: { withPorts: boolean; present?: readonly string[] },
): Endpoints {
  const ports = [{ name: 'https', port: securePort, protocol: 'TCP' }]
  const [subset, ...others] = known?.subsets ?? []
  const before = (subset?.addresses ?? []).map(({ ip }) => ip)
  const servers = isShared ? (present ?? before) : []
  const addresses = [...new Set([...servers, advertisedAddress(host)])].sort()
  const isRight = others.length === 0 && isDeepStrictEqual(before, addresses)
  const keepsPorts = subset?.ports && others.length === 0 && (!withPorts || (before.length > 0 && isShared))
  const keptPorts = keepsPorts ? subset.ports : ports
  return {
    ...known,
    metadata: {
      ...(known?.metadata ?? { namespace, name }),
      labels: { ...known?.metadata.labels, [SKIP_MIRROR]: 'true' },
    },
    subsets: [
      isRight ? { ...subset, ports: keptPorts } : { addresses: addresses.map((ip) => ({ ip })), ports: keptPorts },
    ],
  }
}

function sliceOf({ subsets: [subset] = [] }: Endpoints): EndpointSlice {
  const all = (subset?.addresses ?? []).map(({ ip }) => ip)
  const family = all.every((address) => isIP(address) === 6) ? 6 : 4
  const addresses = all.filter((address) => isIP(address) === family)
  return {
    metadata: { namespace, name, labels: { [SERVICE_LABEL]: name } },
    addressType: family === 6 ? 'IPv6' : 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: subset?.ports ?? [],
  }
}

async function ensureSlice(client: Client, wanted: EndpointSlice): Promise<void> {
  const known = await find<EndpointSlice>(client, endpointSlices)
  const says = ({ metadata, addressType, endpoints, ports }: EndpointSlice) => [
    metadata.labels,
    addressType,
    endpoints,
    ports,
  ]
  if (known && isDeepStrictEqual(says(known), says(wanted))) return
  if (known && known.addressType === wanted.addressType) {
    await client
      .update<EndpointSlice>(endpointSlices, { ...wanted, metadata: { ...known.metadata, ...wanted.metadata } })
      .catch(changedMeanwhile)
    return
  }
  // The type of a slice's addresses cannot change.
  if (known) await client.delete(endpointSlices, { namespace, name }).catch(changedMeanwhile)
  await client.create<EndpointSlice>(endpointSlices, wanted).catch(ignoring('AlreadyExists'))
}

/** A change by another client makes an event of its own. */
const changedMeanwhile = ignoring('Conflict', 'NotFound')

const find = <T extends object>(client: Client, resource: Resource): Promise<T | undefined> =>
  client.get<T>(resource, { namespace, name }).catch(ignoreNotFound)

function serviceOf({ securePort, clusterIP }: KubernetesServiceOptions): Service {
  return {
    metadata: { name, namespace, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
      sessionAffinity: 'None',
    },
  }
}
