import { isIPv4 } from 'node:net'
import { AddressRange } from '../../shared/api/address-range.ts'
import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { services } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { ClusterServices } from '../services/cluster-services.ts'
import { serveApi } from './serve-api.ts'

export interface ServeClusterOptions {
  network: NodeNetwork
  client: Client
  clock: Clock
  /** The API server, as this machine reaches it. */
  server: URL
  nodeName: string
  warn(error: unknown, what: string): void
}

export interface ServedCluster extends Served {
  /** The address at which pods find DNS. */
  dns: string
}

/** Ten addresses after that of the network, as upstream's tools choose it: `10.96.0.10` of `10.96.0.0/16`. */
const DNS_INDEX = 9

/**
 * Serves in the network of a node what pods expect at addresses of Services: the API server, and DNS. Undefined where
 * the cluster has no Service `kubernetes`, from whose address the others follow.
 */
export async function serveCluster(options: ServeClusterOptions): Promise<ServedCluster | undefined> {
  const { network, client, clock, server, nodeName, warn } = options
  const api = await client.get<Service>(services, { namespace: 'default', name: 'kubernetes' }).catch(ignoreNotFound)
  const { clusterIP = '' } = api?.spec ?? {}
  if (!api || !isIPv4(clusterIP)) return undefined
  const dns = new AddressRange(`${clusterIP}/24`).at(DNS_INDEX)
  const known = new ClusterServices({ client, clock, onError: (error) => warn(error, 'Services could not be watched') })
  const served: Served[] = [{ close: () => void known.close() }]
  const close = (): void => {
    for (const one of served) one.close()
  }
  try {
    served.push(await serveApi(network, api, server))
    const { openDns } = await import('../dns/open-dns.ts')
    served.push(
      await openDns({ network, clock, host: dns, services: known, warn: (message) => warn(undefined, message) }),
    )
    const { ServiceProxy } = await import('../services/service-proxy.ts')
    served.push(new ServiceProxy({ network, clock, nodeName, services: known, warn }))
    const { PolicyEnforcer } = await import('../policies/policy-enforcer.ts')
    served.push(new PolicyEnforcer({ network, client, clock, dns, warn }))
  } catch (error) {
    close()
    throw error
  }
  return { dns, close }
}
