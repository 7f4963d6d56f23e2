import type { V1EndpointSlice, V1Endpoints } from '@kubernetes/client-node'
import { isReadyEndpoint, SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { Wire } from '../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'

export interface EndpointAddress {
  address: string
  port: number
  /** Names the node of the pod, where it is known. */
  nodeName?: string
}

interface Lookups {
  lookup: Lookup
  lookupAll: LookupAll
}

/** Says whether anything tells of the pods behind a service, be it that there are none. */
export const hasEndpoints = (
  { lookup, lookupAll }: Lookups,
  { namespace, name }: { namespace: string; name: string },
): boolean =>
  lookup({ group: '', plural: 'endpoints' }, namespace, name) !== undefined ||
  slicesOf(lookupAll, { namespace, name }).length > 0

const slicesOf = (lookupAll: LookupAll, { namespace, name }: { namespace: string; name: string }) =>
  [...lookupAll({ group: 'discovery.k8s.io', plural: 'endpointslices' }, namespace)].filter(
    ({ metadata }) => metadata.labels?.[SERVICE_LABEL] === name,
  )

/** Returns the addresses of the pods behind a port of a service: from Endpoints if they exist, else from the slices. */
export function endpointAddresses(
  { lookup, lookupAll }: Lookups,
  { namespace, name, portName }: { namespace: string; name: string; portName: string },
): EndpointAddress[] {
  const endpoints = lookup({ group: '', plural: 'endpoints' }, namespace, name) as Wire<V1Endpoints> | undefined
  const known = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) =>
    ports
      .filter((port) => (port.name ?? '') === portName)
      .flatMap(({ port }) => addresses.map(({ ip, nodeName }) => ({ address: ip, port, nodeName }))),
  )
  if (known.length > 0) return known
  const slices = slicesOf(lookupAll, { namespace, name }) as unknown as Wire<V1EndpointSlice>[]
  // The API writes an empty list as null.
  return slices.flatMap(({ endpoints: ready, ports }) =>
    (ports ?? [])
      .filter((port) => (port.name ?? '') === portName && port.port !== undefined)
      .flatMap(({ port = 0 }) =>
        (ready ?? [])
          .filter(isReadyEndpoint)
          .flatMap(({ addresses, nodeName }) => addresses.slice(0, 1).map((address) => ({ address, port, nodeName }))),
      ),
  )
}
