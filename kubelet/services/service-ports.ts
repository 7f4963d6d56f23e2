import { type Endpoint, isReadyEndpoint } from '../../shared/api/endpoint-slices.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads.ts'
import type { ClusterServices } from './cluster-services.ts'

/** A port of a cluster IP, and where its traffic goes. */
export interface ServicePort {
  ip: string
  protocol: 'tcp' | 'udp'
  port: number
  endpoints: Target[]
  /** A client comes back to the same endpoint within these seconds; absent: it need not. */
  affinitySeconds?: number
}

export interface Target {
  ip: string
  port: number
}

/** Upstream: DefaultClientIPServiceAffinitySeconds. */
const AFFINITY_SECONDS = 10_800

/**
 * Returns what a proxy serves on this node: all ports of IPv4 cluster IPs, but for the API server's, which is served
 * otherwise.
 */
export function servicePorts(known: Pick<ClusterServices, 'list' | 'slices'>, nodeName: string): ServicePort[] {
  const isServed = ({ metadata, spec }: Service): boolean =>
    /^\d+\./.test(spec?.clusterIP ?? '') && !(metadata.namespace === 'default' && metadata.name === 'kubernetes')
  return [...known.list()].filter(isServed).flatMap((service) => {
    const { metadata, spec } = service
    const slices = known.slices(metadata.namespace ?? '', metadata.name ?? '')
    const { clusterIP: ip = '', ports = [], sessionAffinity, sessionAffinityConfig } = spec ?? {}
    const affinity =
      sessionAffinity === 'ClientIP'
        ? { affinitySeconds: sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS }
        : {}
    const only = spec?.internalTrafficPolicy === 'Local' ? nodeName : undefined
    return ports.flatMap(({ name = '', protocol = 'TCP', port }): ServicePort[] => {
      if (protocol !== 'TCP' && protocol !== 'UDP') return []
      const endpoints = targets(slices, { name, protocol, only })
      return [{ ip, protocol: protocol === 'TCP' ? 'tcp' : 'udp', port, endpoints, ...affinity }]
    })
  })
}

/** Those that are ready; without one, those that end and still serve. Upstream: CategorizeEndpoints. */
function targets(
  slices: EndpointSlice[],
  { name, protocol, only }: { name: string; protocol: string; only: string | undefined },
): Target[] {
  const all = slices.flatMap(({ addressType, endpoints, ports }) => {
    const own = ports?.find((port) => (port.name ?? '') === name && (port.protocol ?? 'TCP') === protocol)
    if (addressType !== 'IPv4' || own?.port === undefined) return []
    const { port } = own
    return (endpoints ?? [])
      .filter(({ nodeName }) => only === undefined || nodeName === only)
      .map((endpoint) => ({ endpoint, port }))
  })
  const ready = all.filter(({ endpoint }) => isReadyEndpoint(endpoint))
  const used = ready.length > 0 ? ready : all.filter(({ endpoint }) => endsServing(endpoint))
  const found = used.map(({ endpoint, port }) => ({ ip: endpoint.addresses[0] ?? '', port }))
  // The machine's own loopback is not that of the node's network.
  return [...new Map(found.map((one) => [`${one.ip}:${one.port}`, one])).values()].filter(
    ({ ip }) => ip !== '' && !ip.startsWith('127.'),
  )
}

const endsServing = ({ conditions }: Endpoint): boolean =>
  conditions?.terminating === true && conditions.serving !== false
