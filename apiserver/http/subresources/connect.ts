import { badRequest, forbidden } from '../../../shared/api/status-errors.ts'
import type { Pod } from '../../../shared/api/types.ts'
import type { ApiContext } from '../api-context.ts'
import type { ResourceExchange } from '../exchange.ts'
import { booleanParameter, type Query } from '../request-info.ts'
import { chooseContainer, nodeOf } from './pod-target.ts'

/** The kubelet does all that is to be done: the server finds out which one, and ties client and kubelet together. */
export function execInPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  return connect(api, exchange, (pod, query) => `/exec/${pathOf(pod, query)}?${streamQuery(query)}`)
}

export function attachToPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  return connect(api, exchange, (pod, query) => `/attach/${pathOf(pod, query)}?${streamQuery(query)}`)
}

export function portForwardToPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  return connect(api, exchange, ({ metadata }, query) => {
    const ports = new URLSearchParams(query.getAll('ports').map((port) => ['port', port]))
    return `/portForward/${metadata.namespace}/${metadata.name}?${ports}`
  })
}

async function connect(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
  kubeletPath: (pod: Pod, query: Query) => string,
): Promise<void> {
  const { info, user, request, response, upgrade } = exchange
  const { namespace = '', name = '' } = target
  if (info.query.has('dryRun')) throw badRequest('dryRun is not supported')
  if (request.method === 'GET') await assertMayCreate(api, { exchange, definition, target })
  api.registry.get({ definition, namespace, name, user })
  const pod = api.registry.lookup(definition, namespace, name) as unknown as Pod
  const path = kubeletPath(pod, info.query)
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  const node = nodeOf(api, pod)
  if (!upgrade) throw badRequest('Upgrade request required')
  await api.kubelet.join(node, { path, request, response, upgrade })
}

/** Who runs a command does more than to read: a WebSocket begins with a GET, but needs what a POST does. Upstream: pkg/registry/core/pod/rest/authorize.go. */
async function assertMayCreate(
  { access }: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<void> {
  const { user, info } = exchange
  const { group, resource, subresource, namespace, name = '' } = target
  const asked = { group, resource, subresource, namespace, name }
  const { verdict, reason = '' } = await access.decide({ user, verb: 'create', path: info.path, resource: asked })
  if (verdict !== 'allow') throw forbidden(definition, name, reason)
}

const pathOf = (pod: Pod, query: Query): string =>
  `${pod.metadata.namespace}/${pod.metadata.name}/${chooseContainer(pod, query.get('container') ?? '')}`

/** The API's names of the streams, and the kubelet's. Output is wanted unless it is refused. */
function streamQuery(query: Query): URLSearchParams {
  const wanted = {
    input: booleanParameter(query, 'stdin'),
    output: !query.has('stdout') || booleanParameter(query, 'stdout'),
    error: !query.has('stderr') || booleanParameter(query, 'stderr'),
    tty: booleanParameter(query, 'tty'),
  }
  const streams = Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [[name, '1']] : []))
  return new URLSearchParams([...query.getAll('command').map((word) => ['command', word]), ...streams])
}
