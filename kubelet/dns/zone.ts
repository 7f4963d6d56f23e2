import type { StringAnswer as Plain, SrvAnswer } from 'dns-packet'
import { type Endpoint, isReadyEndpoint } from '../../shared/api/services/endpoint-slices.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { CLUSTER_DOMAIN } from '../pod/cluster-domain.ts'
import { type ClusterServices, serviceOf } from '../services/cluster-services.ts'

export type ZoneServices = Pick<
  ClusterServices,
  'service' | 'slices' | 'withClusterIP' | 'slicesWith' | 'hasNamespace' | 'onChange'
>
export type Answer = Plain | SrvAnswer

/** Holds the cluster's answer for a name. One that exists may have no record of the type that was asked for. */
export interface Found {
  exists: boolean
  answers: Answer[]
  /** Holds the addresses of the targets in {@link answers}. */
  additionals?: Answer[]
  /** Names what this one stands for: that of an ExternalName. */
  alias?: string
}

/** Seconds for which others may keep an answer. Upstream: CoreDNS' plugin kubernetes. */
export const TTL = 5

const REVERSE = '.in-addr.arpa'
const unknown: Found = { exists: false, answers: [] }
const noRecord: Found = { exists: true, answers: [] }

/**
 * Looks a name up as the specification of DNS for Services says (github.com/kubernetes/dns). Undefined for a name that
 * is not the cluster's.
 */
export function lookUp(services: ZoneServices, { name, type }: { name: string; type: string }): Found | undefined {
  const lower = name.toLowerCase()
  if (lower.endsWith(REVERSE)) return pointer(services, { name, type, lower })
  if (lower !== CLUSTER_DOMAIN && !lower.endsWith(`.${CLUSTER_DOMAIN}`)) return undefined
  const labels = lower.split('.').slice(0, -CLUSTER_DOMAIN.split('.').length)
  const kind = labels.pop()
  if (kind === undefined) return noRecord
  if (kind === 'pod') return podName(labels, { name, type })
  return kind === 'svc' ? serviceName(services, labels, { name, type }) : unknown
}

interface Asked {
  name: string
  type: string
}

/** `10-244-0-7.NAMESPACE.pod` has its address by itself. */
function podName(labels: string[], asked: Asked): Found {
  if (labels.length < 2) return noRecord
  const ip = (labels[0] ?? '').replaceAll('-', '.')
  return labels.length === 2 && isAddress(ip) ? { exists: true, answers: addresses([ip], asked) } : unknown
}

const isAddress = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => Number(part) < 256)

function serviceName(services: ZoneServices, labels: string[], asked: Asked): Found {
  const [namespace, name, ...rest] = labels.toReversed()
  if (namespace === undefined) return noRecord
  if (name === undefined) return services.hasNamespace(namespace) ? noRecord : unknown
  const service = services.service(namespace, name)
  if (!service) return unknown
  const slices = services.slices(namespace, name)
  const [last, first, ...more] = rest
  if (more.length > 0) return unknown
  if (last === undefined) return wholeService(service, slices, asked)
  if (first !== undefined) return portOfService(service, slices, { ...asked, protocol: last, port: first })
  const named = slices.flatMap((slice) => readyOf(slice).filter((endpoint) => labelsOf(endpoint).includes(last)))
  if (named.length === 0) return unknown
  return { exists: true, answers: addresses(addressesOf(named), asked) }
}

function wholeService(service: Service, slices: EndpointSlice[], asked: Asked): Found {
  const { type, externalName = '' } = service.spec ?? {}
  if (type === 'ExternalName') {
    const alias = externalName.replace(/\.$/, '')
    return { exists: true, alias, answers: [{ name: asked.name, type: 'CNAME', ttl: TTL, data: alias }] }
  }
  if (asked.type === 'SRV') return targets(service, slices, asked, () => true)
  const all = isHeadless(service) ? addressesOf(slices.flatMap(readyOf)) : (service.spec?.clusterIPs ?? [])
  return { exists: true, answers: addresses(all, asked) }
}

/** Answers for `_http._tcp.SERVICE`. */
function portOfService(
  service: Service,
  slices: EndpointSlice[],
  { protocol, port, ...asked }: Asked & { protocol: string; port: string },
): Found {
  const found = targets(
    service,
    slices,
    { ...asked, type: 'SRV' },
    (one) => port === `_${one.name}` && protocol === `_${(one.protocol ?? 'TCP').toLowerCase()}`,
  )
  if (found.answers.length === 0) return unknown
  return asked.type === 'SRV' ? found : noRecord
}

interface Target {
  host: string
  port: number
  ips: string[]
}

function targets(
  service: Service,
  slices: EndpointSlice[],
  { name }: Asked,
  wanted: (port: { name?: string; protocol?: string }) => boolean,
): Found {
  const { ports = [], clusterIPs = [] } = service.spec ?? {}
  const base = nameOf(service.metadata.namespace, service.metadata.name)
  const all: Target[] = isHeadless(service)
    ? slices.flatMap((slice) =>
        readyOf(slice).flatMap((endpoint) =>
          (slice.ports ?? []).filter(wanted).map(({ port = 0 }) => ({
            host: `${labelsOf(endpoint)[0]}.${base}`,
            port,
            ips: endpoint.addresses,
          })),
        ),
      )
    : ports.filter(wanted).map(({ port }) => ({ host: base, port, ips: clusterIPs }))
  const weight = Math.max(1, Math.floor(100 / Math.max(1, all.length)))
  const hosts = new Map(all.map(({ host, ips }) => [host, ips]))
  return {
    exists: true,
    answers: all.map(({ host, port }) => ({
      name,
      type: 'SRV',
      ttl: TTL,
      data: { target: host, port, priority: 0, weight },
    })),
    additionals: [...hosts].flatMap(([host, ips]) => addresses(ips, { name: host, type: 'A' })),
  }
}

/** The name of an address of the cluster; others may be known to the machine's resolver. */
function pointer(services: ZoneServices, { name, type, lower }: Asked & { lower: string }): Found | undefined {
  const ip = lower.slice(0, -REVERSE.length).split('.').reverse().join('.')
  const service = services.withClusterIP(ip)
  const names = service
    ? [nameOf(service.metadata.namespace, service.metadata.name)]
    : services.slicesWith(ip).flatMap((slice) =>
        readyOf(slice)
          .filter(({ addresses: own }) => own.includes(ip))
          .map((endpoint) => `${labelsOf(endpoint)[0]}.${nameOf(slice.metadata.namespace, serviceOf(slice))}`),
      )
  if (names.length === 0) return undefined
  if (type !== 'PTR') return noRecord
  return { exists: true, answers: [...new Set(names)].map((data) => ({ name, type: 'PTR', ttl: TTL, data })) }
}

const nameOf = (namespace = '', service = ''): string => `${service}.${namespace}.svc.${CLUSTER_DOMAIN}`

const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === 'None'

const readyOf = ({ endpoints }: EndpointSlice): Endpoint[] => (endpoints ?? []).filter(isReadyEndpoint)

const addressesOf = (endpoints: Endpoint[]): string[] => [...new Set(endpoints.flatMap((one) => one.addresses))]

/** An endpoint without a hostname is called as its address. */
const labelsOf = ({ hostname, addresses: all }: Endpoint): string[] =>
  hostname ? [hostname] : all.map((ip) => ip.replace(/[.:]/g, '-'))

const addresses = (ips: readonly string[], { name, type }: Asked): Answer[] =>
  type === 'A' || type === 'AAAA'
    ? ips
        .filter((ip) => ip !== 'None' && ip.includes(':') === (type === 'AAAA'))
        .map((data) => ({ name, type, ttl: TTL, data }))
    : []
