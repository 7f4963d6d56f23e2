import { badRequest, forbidden } from '../../../shared/api/status/status-errors.ts'
import type { Pod } from '../../../shared/api/types.ts'
import type { ApiContext } from '../api-context.ts'
import type { ResourceExchange } from '../exchange.ts'
import { booleanParameter, type Query } from '../request-info.ts'
import type { Refusal } from '../streams/join.ts'
import { admitConnect } from './admit.ts'
import { chooseContainer, nodeOf } from './pod-target.ts'
import { isTranslated, refuseTranslated } from './stream-refusal.ts'

/** The kubelet does all that is to be done: the server finds out which one, and ties client and kubelet together. */
export function execInPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  const path = (pod: Pod, query: Query) => `/exec/${pathOf(pod, query)}?${streamQuery(query)}`
  const options = (query: Query) => ({ kind: 'PodExecOptions', ...execOptions(query) })
  return connect(api, exchange, { path, options, translates: true })
}

export function attachToPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  const path = (pod: Pod, query: Query) => `/attach/${pathOf(pod, query)}?${streamQuery(query)}`
  const options = (query: Query) => ({ kind: 'PodAttachOptions', ...streams(query) })
  return connect(api, exchange, { path, options, translates: true })
}

export function portForwardToPod(api: ApiContext, exchange: ResourceExchange): Promise<void> {
  const path = ({ metadata }: Pod, query: Query) => {
    const ports = new URLSearchParams(query.getAll('ports').map((port) => ['port', port]))
    return `/portForward/${metadata.namespace}/${metadata.name}?${ports}`
  }
  const options = (query: Query) => ({ kind: 'PodPortForwardOptions', ports: portsIn(query) })
  return connect(api, exchange, { path, options })
}

/** Throws a StatusError (400) for what is no port. */
function portsIn(query: Query): number[] {
  return query
    .getAll('ports')
    .flatMap((ports) => ports.split(','))
    .map((port) => {
      const why = /^[0-9]+$/.test(port) ? Number(port) > 65_535 && 'value out of range' : 'invalid syntax'
      if (why) throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(port)}: ${why}`)
      return Number(port)
    })
}

interface Connection {
  path(pod: Pod, query: Query): string
  /** Returns the options that admission sees. */
  options(query: Query): { kind: string }
  /** True if a refusal is told within the WebSocket to clients that can read it there. */
  translates?: boolean
}

async function connect(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
  { path: kubeletPath, options, translates = false }: Connection,
): Promise<void> {
  const { info, user, request, upgrade } = exchange
  const { namespace = '', name = '' } = target
  if (info.query.has('dryRun')) throw badRequest('dryRun is not supported')
  if (request.method === 'GET') await assertMayCreate(api, { exchange, definition, target })
  const scope = { definition, namespace, name, user }
  const { kind, ...said } = options(info.query)
  const { subresource = '' } = target
  const { warnings, audit } = exchange
  const hears = { warn: warnings.add, annotate: audit?.annotate }
  const about = { kind: { group: '', version: 'v1', kind }, options: said, ...hears }
  await admitConnect(api.registry, { ...scope, subresource }, about)
  api.registry.get(scope)
  const pod = api.registry.lookup(definition, namespace, name) as unknown as Pod
  const path = kubeletPath(pod, info.query)
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  const node = nodeOf(api, pod)
  if (!upgrade) throw badRequest('Upgrade request required')
  const refuse =
    translates && isTranslated(exchange)
      ? (refusal: Refusal, url: string) =>
          refuseTranslated(exchange, refusal, { upgrade, ...wantedStreams(info.query), url })
      : undefined
  await api.kubelet.join(node, { path, exchange, upgrade, refuse })
}

/**
 * Running a command is more than reading: a WebSocket begins with a GET, but needs what a POST does. Upstream:
 * pkg/registry/core/pod/rest/authorize.go.
 */
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

const execOptions = (query: Query) => ({ ...streams(query), command: query.getAll('command') })

/** Returns the streams as PodExecOptions and PodAttachOptions have them, which leave out what is not wanted. */
function streams(query: Query): object {
  const { input, output, error, tty } = wantedStreams(query)
  const container = query.get('container')
  return {
    ...(input && { stdin: true }),
    ...(output && { stdout: true }),
    ...(error && { stderr: true }),
    ...(tty && { tty: true }),
    ...(container && { container }),
  }
}

/** The API's names of the streams, and the kubelet's. Output is wanted unless it is refused. */
const wantedStreams = (query: Query) => ({
  input: booleanParameter(query, 'stdin'),
  output: !query.has('stdout') || booleanParameter(query, 'stdout'),
  error: !query.has('stderr') || booleanParameter(query, 'stderr'),
  tty: booleanParameter(query, 'tty'),
})

function streamQuery(query: Query): URLSearchParams {
  const wanted = Object.entries(wantedStreams(query)).flatMap(([name, isWanted]) => (isWanted ? [[name, '1']] : []))
  const all = new URLSearchParams([...query.getAll('command').map((word) => ['command', word]), ...wanted])
  all.sort() // as Go encodes them
  return all
}
