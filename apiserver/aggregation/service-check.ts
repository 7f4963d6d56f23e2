import type { V1EndpointSlice } from '@kubernetes/client-node'
import { isReadyEndpoint, SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { Service, Wire } from '../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type { RemoteApi } from './remote-api.ts'

export interface Availability {
  status: 'True' | 'False'
  reason: string
  message: string
}

export const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' }
export const unavailable = (reason: string, message: string): Availability => ({ status: 'False', reason, message })

/**
 * Returns why the Service of an API cannot be asked; undefined if nothing is known against it. Upstream:
 * kube-aggregator's remote AvailableConditionController.
 */
export function serviceProblem(
  { service: { namespace, name, port } }: RemoteApi,
  { lookup, lookupAll }: { lookup: Lookup; lookupAll: LookupAll },
): Availability | undefined {
  const shown = `service/${name} in ${JSON.stringify(namespace)}`
  const service = lookup({ group: '', plural: 'services' }, namespace, name) as unknown as Service | undefined
  if (!service) return unavailable('ServiceNotFound', `${shown} is not present`)
  // The ports of Services of other types are not known.
  if (service.spec?.type !== 'ClusterIP') return undefined
  const found = service.spec.ports?.find((candidate) => candidate.port === port)
  if (!found) return unavailable('ServicePortError', `${shown} is not listening on port ${port}`)
  const portName = found.name ?? ''
  const slices = [...lookupAll({ group: 'discovery.k8s.io', plural: 'endpointslices' }, namespace)]
    .filter(({ metadata }) => metadata.labels?.[SERVICE_LABEL] === name)
    .map((slice) => slice as unknown as Wire<V1EndpointSlice>)
  if (slices.length === 0) return unavailable('EndpointsNotFound', `cannot find endpointslices for ${shown}`)
  if (slices.some((slice) => isUsable(slice, portName))) return undefined
  const missing = `endpointslices for ${shown} have no addresses with port name ${JSON.stringify(portName)}`
  return unavailable('MissingEndpoints', missing)
}

const isUsable = ({ endpoints, ports }: Wire<V1EndpointSlice>, portName: string): boolean =>
  (endpoints ?? []).some(isReadyEndpoint) &&
  (ports ?? []).some(({ name, port }) => (name ?? '') === portName && port !== undefined)
