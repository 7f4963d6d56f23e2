import type { Service } from '../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import { endpointAddresses } from '../registry/service-endpoints.ts'
import type { WayToPod } from '../registry/way-to-pod.ts'
import type { ResolveService } from './client-config.ts'

/**
 * Nothing listens at a service's own address here: the way goes to a pod behind it, or to the name that an ExternalName
 * stands for, at the port that was asked for. `random` chooses the pod; without it the first one is taken. Upstream:
 * ResolveCluster of apiserver/pkg/util/proxy.
 */
export const serviceResolver =
  (cluster: { lookup: Lookup; lookupAll: LookupAll }, way: WayToPod, random = () => 0): ResolveService =>
  ({ namespace, name, port }) => {
    const shown = JSON.stringify(name)
    const service = cluster.lookup({ group: '', plural: 'services' }, namespace, name) as unknown as Service | undefined
    if (!service) throw new Error(`service ${shown} not found`)
    const { type, externalName } = service.spec ?? {}
    if (type === 'ExternalName' && externalName) return { address: externalName, port }
    const found = service.spec?.ports?.find((candidate) => candidate.port === port)
    if (!found) throw new Error(`no service port ${port} found for service ${shown}`)
    const addresses = endpointAddresses(cluster, { namespace, name, portName: found.name ?? '' })
    const address = addresses[Math.floor(random() * addresses.length)]
    if (!address) throw new Error(`no endpoints available for service ${shown}`)
    return { ...address, dial: way(address) }
  }
