import { isIP, isIPv6 } from 'node:net'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { badRequest, notFound } from '../../../shared/api/status/status-errors.ts'
import type { Node, Pod, Service } from '../../../shared/api/types.ts'
import { endpointAddresses, hasEndpoints } from '../../registry/service-endpoints.ts'
import type { ApiContext } from '../api-context.ts'
import { sendNothing } from '../encode/respond.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { Handler } from '../handler.ts'
import { forward, notReached } from '../proxy/reverse-proxy.ts'
import type { Backend } from '../streams/backend.ts'
import { admitConnect } from './admit.ts'

type Locate = (api: ApiContext, target: ProxyTarget, exchange: ResourceExchange) => Backend

/** The target that stands in the place of an object's name: `name`, `name:port` or `scheme:name:port`. */
interface ProxyTarget {
  scheme: 'http' | 'https'
  name: string
  port: string
}

/** Passes a request to a kubelet, or to another port of its machine. Upstream: pkg/registry/core/node/strategy.go. */
export const proxyToNode = proxy('node', (api, { scheme, name, port }, { definition, exchange }) => {
  api.registry.get({ definition, name, user: exchange.user })
  const kubelet = api.kubelet.reach(api.registry.lookup(definition, undefined, name) as unknown as Node)
  const { hostname, port: kubeletPort } = new URL(kubelet.origin)
  return port === '' || port === kubeletPort ? kubelet : { origin: originOf(scheme, hostname, port) }
})

/**
 * Passes a request to a pod's port; without a port, to the first port that a container names. Upstream:
 * pkg/registry/core/pod/strategy.go.
 */
export const proxyToPod = proxy('pod', (api, { scheme, name, port }, { definition, target, exchange }) => {
  api.registry.get({ definition, namespace: target.namespace, name, user: exchange.user })
  const { spec, status } = api.registry.lookup(definition, target.namespace, name) as unknown as Pod
  const [named] = spec.containers.flatMap(({ ports = [] }) => ports)
  const chosen = port || (named ? String(named.containerPort) : '')
  const address = status?.podIP ?? ''
  if (!isReachable(address)) throw badRequest('address not allowed')
  const to = { address, port: Number(chosen) || defaultPorts[scheme], nodeName: spec.nodeName }
  return { origin: originOf(scheme, address, chosen), dial: api.wayToPod(to) }
})

/** Passes a request to one of the pods behind a service. Upstream: pkg/registry/core/service/storage/storage.go. */
export const proxyToService = proxy('service', (api, { scheme, name, port }, { definition, target, exchange }) => {
  const { namespace = '' } = target
  api.registry.get({ definition, namespace, name, user: exchange.user })
  const service = api.registry.lookup(definition, namespace, name) as unknown as Service
  const portName = /^\d+$/.test(port) ? nameOfPort(service, Number(port)) : port
  const found = endpointAddresses(api.registry, { namespace, name, portName })
  const chosen = found[Math.floor(api.registry.random() * found.length)]
  if (!chosen && !hasEndpoints(api.registry, { namespace, name })) throw notFound(definition, name)
  if (!chosen) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`)
  return { origin: originOf(scheme, chosen.address, String(chosen.port)), dial: api.wayToPod(chosen) }
})

function proxy(kind: string, locate: Locate): Handler {
  return async (api, context) => {
    const { exchange, target } = context
    const { path, query } = exchange.info
    await admit(api, context, kind)
    const backend = locate(api, parseTarget(kind, target.name ?? ''), context)
    const { prefix, rest } = splitPath(path, target.namespace !== undefined)
    const text = String(query)
    const search = text && `?${text}`
    const { method = 'GET' } = exchange.request
    if (rest === '' && !exchange.upgrade && (method === 'GET' || method === 'HEAD')) {
      return sendNothing(exchange, 301, { location: `${prefix}/${search}` })
    }
    await forward(exchange, backend, { path: (rest || '/') + search, prefix })
  }
}

/**
 * `/api/v1[/namespaces/NS]/KIND/NAME/proxy`, and what follows; no part of it is looked for by its name, since objects
 * may have it.
 */
function splitPath(path: string, isNamespaced: boolean): { prefix: string; rest: string } {
  const parts = path.split('/')
  const length = isNamespaced ? 8 : 6
  const rest = parts.slice(length)
  return { prefix: parts.slice(0, length).join('/'), rest: rest.length > 0 ? `/${rest.join('/')}` : '' }
}

const optionsOf: Record<string, string> = {
  node: 'NodeProxyOptions',
  pod: 'PodProxyOptions',
  service: 'ServiceProxyOptions',
}

function admit(api: ApiContext, { exchange, definition, target }: ResourceExchange, kind: string): Promise<void> {
  const { namespace, name = '', rest } = target
  const about = {
    kind: { group: '', version: 'v1', kind: optionsOf[kind]! },
    options: rest.length > 0 ? { path: rest.join('/') } : {},
    warn: exchange.warnings.add,
    annotate: exchange.audit?.annotate,
  }
  return admitConnect(api.registry, { definition, namespace, name, user: exchange.user, subresource: 'proxy' }, about)
}

const schemes = ['', 'http', 'https']

function parseTarget(kind: string, id: string): ProxyTarget {
  const parts = id.split(':')
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts, '']
  if (parts.length > 3 || !name || !schemes.includes(scheme!))
    throw badRequest(`invalid ${kind} request ${JSON.stringify(id)}`)
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: port ?? '' }
}

/** The port is the client's word: it must not say where to go. */
function originOf(scheme: string, address: string, port: string): string {
  if (/\D/.test(port)) throw notReached(`dial tcp: lookup tcp/${port}: unknown port`)
  if (Number(port) > maxPort) throw notReached(`dial tcp: address ${port}: invalid port`)
  return `${scheme}://${isIPv6(address) ? `[${address}]` : address}${port && `:${port}`}`
}

const maxPort = 65_535
const defaultPorts = { http: 80, https: 443 }

/** Here pods have loopback addresses, which a real server refuses as proxy targets. */
const isReachable = (address: string): boolean =>
  isIP(address) !== 0 && !/^(0\.|169\.254\.|22[4-9]\.|2[3-5]\d\.|fe80:|ff)/i.test(address)

const unavailable = (message: string): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message })

function nameOfPort({ metadata, spec }: Service, port: number): string {
  const found = spec?.ports?.find((candidate) => candidate.port === port)
  if (!found) throw unavailable(`no service port ${port} found for service ${JSON.stringify(metadata.name)}`)
  return found.name ?? ''
}
