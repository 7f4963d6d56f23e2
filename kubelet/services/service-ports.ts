import { isIPv4 } from 'node:net'
import { type Endpoint, isReadyEndpoint } from '../../shared/api/services/endpoint-slices.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import type { ClusterServices } from './cluster-services.ts'

/** A port of an address of a Service, or one of the node, and where its traffic goes. */
export interface ServicePort {
  /** Holds the cluster IP or an external address; absent for a node port. */
  ip?: string
  /** SCTP is led by rules alone. */
  protocol: 'tcp' | 'udp' | 'sctp'
  port: number
  endpoints: Target[]
  /** A client comes back to the same endpoint within these seconds; absent: it need not. */
  affinitySeconds?: number
}

export interface Target {
  ip: string
  port: number
}

const servedOtherwise = new Set(['default/kubernetes', 'kube-system/kube-dns'])

/** Upstream: DefaultClientIPServiceAffinitySeconds. */
const AFFINITY_SECONDS = 10_800

const protocols: Partial<Record<string, ServicePort['protocol']>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' }

export interface ServedNode {
  name: string
  /** Holds the address at which the network of pods reaches this machine. */
  machine: string
}

/**
 * Returns what a proxy serves on this node: all ports of IPv4 cluster IPs, with external addresses and node ports, but
 * for those of the API server and of DNS, which are served otherwise.
 */
export function servicePorts(known: Pick<ClusterServices, 'list' | 'slices'>, node: ServedNode): ServicePort[] {
  const isServed = ({ metadata, spec }: Service): boolean =>
    isIPv4(spec?.clusterIP ?? '') && !servedOtherwise.has(`${metadata.namespace}/${metadata.name}`)
  return [...known.list()].filter(isServed).flatMap((service) => {
    const { metadata, spec } = service
    const slices = known.slices(metadata.namespace ?? '', metadata.name ?? '')
    const { clusterIP: ip = '', ports = [], sessionAffinity, sessionAffinityConfig } = spec ?? {}
    const affinity =
      sessionAffinity === 'ClientIP'
        ? { affinitySeconds: sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS }
        : {}
    const only = (policy: string | undefined) => (policy === 'Local' ? node.name : undefined)
    return ports.flatMap(({ name = '', protocol = 'TCP', port, nodePort }): ServicePort[] => {
      const lower = protocols[protocol]
      if (!lower) return []
      const inside = targets(slices, { name, protocol, node, only: only(spec?.internalTrafficPolicy) })
      const outside = targets(slices, { name, protocol, node, only: only(spec?.externalTrafficPolicy) })
      const same = { protocol: lower, ...affinity }
      return [
        { ...same, ip, port, endpoints: inside },
        ...externalAddresses(service).map((address) => ({ ...same, ip: address, port, endpoints: outside })),
        ...(nodePort ? [{ ...same, port: nodePort, endpoints: outside }] : []),
      ]
    })
  })
}

/** Returns the addresses outside of the cluster at which a Service is reached. Those of a proxy are the proxy's. */
function externalAddresses({ spec, status }: Service): string[] {
  const balanced = (status?.loadBalancer?.ingress ?? []).filter(({ ipMode }) => ipMode !== 'Proxy')
  const all = [...(spec?.externalIPs ?? []), ...balanced.map(({ ip = '' }) => ip)]
  return [...new Set(all.filter((ip) => isIPv4(ip)))]
}

/** Returns the endpoints that are ready; without one, those that end and still serve. Upstream: CategorizeEndpoints. */
function targets(
  slices: EndpointSlice[],
  { name, protocol, node, only }: { name: string; protocol: string; node: ServedNode; only: string | undefined },
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
  // The machine's own loopback is not that of the node's network.
  const reached = (ip = ''): string => (ip.startsWith('127.') ? node.machine : ip)
  const found = used.map(({ endpoint, port }) => ({ ip: reached(endpoint.addresses[0]), port }))
  return [...new Map(found.map((one) => [`${one.ip}:${one.port}`, one])).values()].filter(({ ip }) => ip !== '')
}

const endsServing = ({ conditions }: Endpoint): boolean =>
  conditions?.terminating === true && conditions.serving !== false
