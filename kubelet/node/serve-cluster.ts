import { isIPv4 } from 'node:net'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import { dnsAddress } from '../../shared/api/services/dns-address.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { LostRequests } from '../../shared/api/termination.ts'
import type { Service, ServiceCIDR } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { serviceCidrs, services } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { NetworkedPod, NetworkPlace, NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { ClusterServices } from '../services/cluster-services.ts'
import { serveApi } from './serve-api.ts'

export interface ServeClusterOptions {
  network: NodeNetwork
  client: Client
  clock: Clock
  /** The API server, as this machine reaches it. */
  server: URL
  nodeName: string
  events: Pick<EventRecorder, 'event'>
  /** Delays what rules learn of changes. */
  endpointLagMs: number
  /** Asks for a tunnel that takes datagrams there; `why` says why it cannot be had. */
  tunnel?: { at: NetworkPlace; why?: string }
  /** Reports a pod that reaches a limit of the network. */
  onPodLimit(pod: NetworkedPod, message: string): void
  warn(error: unknown, what: string): void
}

export interface ServedCluster extends Served {
  /** The address at which pods find DNS. */
  dns: string
  /** Resolves to the connections that Services lost at the address of a pod that has ended. */
  lostAt(ip: string): Promise<LostRequests[]>
}

/**
 * Serves in the network of a node what pods expect at addresses of Services: the API server, and DNS. Undefined where
 * the cluster has no Service `kubernetes`, from whose address the others follow.
 */
export async function serveCluster(options: ServeClusterOptions): Promise<ServedCluster | undefined> {
  const { network, client, clock, server, events, nodeName, endpointLagMs: lagMs, warn } = options
  const [api, ranges, parts] = await Promise.all([
    client.get<Service>(services, { namespace: 'default', name: 'kubernetes' }).catch(ignoreNotFound),
    serviceRanges(client),
    loadParts(),
  ])
  const { clusterIP = '' } = api?.spec ?? {}
  if (!api || !isIPv4(clusterIP)) return undefined
  const dns = dnsAddress(clusterIP)
  const known = new ClusterServices({ client, clock, onError: (error) => warn(error, 'Services could not be watched') })
  const served: Served[] = [{ close: () => void known.close() }]
  const close = (): void => {
    for (const one of served) one.close()
  }
  try {
    const range = ranges.find((one) => new AddressRange(one).indexOf(clusterIP) !== undefined)
    const begun = await Promise.allSettled([
      serveApi({ network, clock, server }, api),
      parts.openDns({ network, clock, host: dns, services: known, warn: (message) => warn(undefined, message) }),
    ])
    served.push(...begun.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])))
    for (const one of begun) if (one.status === 'rejected') throw one.reason
    const onServed = (): void => {
      const resolvers = parts.machineResolvers()()
      if (range) void leadMachine(options, { range, cluster: api.metadata.uid ?? '', resolvers })
    }
    const watched = { network, clock, events, nodeName, services: known, range, lagMs, onServed, warn }
    const proxy = new parts.ServiceProxy(watched)
    served.push(proxy)
    // Its rules take the door a while: all that the node waits for is there by then.
    served.push(await parts.serveWayOut({ network, clock, services: range ?? `${clusterIP}/16`, warn }))
    served.push(parts.limitConnections({ network, clock, onReached: options.onPodLimit, warn }))
    served.push(new parts.PolicyEnforcer({ network, client, clock, dns, warn }))
    if (options.tunnel) {
      const { serveTunnel } = await import('./pod-tunnel.ts')
      served.push(serveTunnel({ network, client, clock, nodeName, events, ...options.tunnel, warn }))
    }
    return { dns, close, lostAt: (ip) => proxy.lostAt(ip) }
  } catch (error) {
    close()
    throw error
  }
}

/** Loads what nodes alone need that have a network of their own. */
async function loadParts() {
  const [dns, proxy, wayOut, limit, policies] = await Promise.all([
    import('../dns/open-dns.ts'),
    import('../services/service-proxy.ts'),
    import('./way-out.ts'),
    import('../services/connection-limit.ts'),
    import('../policies/policy-enforcer.ts'),
  ])
  return { ...dns, ...proxy, ...wayOut, ...limit, ...policies }
}

/** Resolves to the ranges of cluster IPs. An API server may not tell them. */
async function serviceRanges(client: Client): Promise<string[]> {
  const { items } = await client.list<ServiceCIDR>(serviceCidrs).catch(() => ({ items: [] }))
  return items.flatMap(({ spec }) => spec?.cidrs ?? []).filter((range) => isIPv4(range.split('/')[0] ?? ''))
}

/** Lets the machine, and with it pods with hostNetwork, reach cluster IPs. */
async function leadMachine(
  { network, warn }: ServeClusterOptions,
  { range, cluster, resolvers }: { range: string; cluster: string; resolvers: NetworkPlace[] },
): Promise<void> {
  const within = resolvers.find(({ host }) => isIPv4(host) && new AddressRange(range).indexOf(host) !== undefined)
  const why = within
    ? `its own resolver ${within.host} is one of ${range}`
    : await network.routeServices(range, cluster).catch(({ message }: Error) => message)
  if (why) warn(undefined, `this machine does not reach cluster IPs of Services: ${why}`)
}
