import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseFieldSelector } from '../../shared/api/field-selector.ts'
import { StatusError } from '../../shared/api/status-error.ts'
import { badRequest, internalError } from '../../shared/api/status-errors.ts'
import { anonymousUser } from '../auth/anonymous.ts'
import { takeOutToken } from '../auth/bearer-token.ts'
import { authenticate, authorize } from '../auth/chain.ts'
import { wantedUser } from '../auth/impersonation.ts'
import { impersonate } from '../auth/impersonation-modes.ts'
import type { Attributes, Authenticator, Authorizer, User } from '../auth/types.ts'
import { StorageFullError } from '../storage/storage.ts'
import type { ApiContext } from './api-context.ts'
import { Exchange, type Upgrade } from './exchange.ts'
import type { FlowControl } from './flow-control/flow-control.ts'
import { intercept } from './instruments/intercept.ts'
import type { Answers } from './limits/answers.ts'
import type { ClientLimits } from './limits/client-limits.ts'
import type { Connections } from './limits/connections.ts'
import type { LimitName } from './limits/limits.ts'
import type { Watchdog } from './limits/watchdog.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import { errorEncoding } from './negotiation.ts'
import type { PathRoutes } from './path-routes.ts'
import { withReason } from './reason-prefix.ts'
import { booleanParameter, parseRequestInfo, type RequestInfo } from './request-info.ts'
import { serveResource } from './resource-routes.ts'
import { sendStatusError, sendText } from './respond.ts'

export interface DispatchOptions {
  api: ApiContext
  authenticators: readonly Authenticator[]
  authorizers: readonly Authorizer[]
  /** What is no resource. */
  paths: PathRoutes
  flowControl: FlowControl
  metrics: RequestMetrics
  connections: Connections
  answers: Answers
  reports: ClientLimits
  /** Of a request. */
  maxBodyBytes: number
  watchdog: Watchdog
  /** Whether it has answered. */
  cors(request: IncomingMessage, response: ServerResponse): boolean
}

export type Dispatch = (request: IncomingMessage, response: ServerResponse, url: string, upgrade?: Upgrade) => void

/** From a request to its handler: who asks, may they, what for. Nothing thrown on the way gets past it. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const { api, authenticators, authorizers, paths, flowControl, metrics, cors, connections, answers } = options
  const { maxBodyBytes, watchdog, reports } = options
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    url: string,
    upgrade: Upgrade | undefined,
  ): Promise<void> => {
    const startMs = api.clock.machine.monotonic()
    const { method = 'GET' } = request
    watchdog.begins(request, startMs)
    if (hasBody.has(method)) request.once('end', () => watchdog.begins(request))
    const info = parseRequestInfo(method, withReason(method, url))
    const asker = authenticate(authenticators, { headers: request.headers, socket: request.socket })
    if (asker !== anonymousUser) connections.identified(request.socket, asker.name)
    if (upgrade) takeOutToken(request.headers)
    const wanted = wantedUser(request.headers)
    const user = wanted ? await impersonate(authorizers, wanted, attributesOf(info, asker)) : asker
    const attributes = attributesOf(info, user)
    const exchange = new Exchange({ request, response, upgrade }, info, user, maxBodyBytes)
    const { journal, faults } = api.instruments
    if ((journal.isOpen || faults.size > 0) && (await intercept(api, exchange, attributes))) return
    if (attributes.resource && watchdog.sheds(attributes.verb)) {
      reports.reached('heap', request.socket, { user: asker.name })
      return sendTooManyRequests(exchange)
    }
    const isLong = isLongRunning(attributes)
    const seat = isLong ? undefined : flowControl.admit(attributes)
    const release = seat instanceof Promise ? await seat : seat
    if (release === 'rejected') {
      reports.reached('maxRequestsInflight', request.socket, { user: asker.name })
      return sendTooManyRequests(exchange)
    }
    const kind = readOnly.has(attributes.verb) ? 'readOnly' : 'mutating'
    if (!isLong) metrics.inFlight[kind]++
    try {
      const refused = authorize(authorizers, attributes)
      if (refused) await refused
      // A client that has left in the meantime sends no body, and no second close event.
      if (response.destroyed || upgrade?.socket.destroyed) return
      const room =
        isLong && attributes.verb !== 'watch'
          ? undefined
          : answers.begin(request.socket, response, weightOf(attributes))
      if (room && !(await room)) return
      const serving = info.target ? serveResource(api, exchange, info.target) : paths.serve(exchange)
      if (serving) await serving
    } catch (error) {
      // Warnings belong to a refusal as well.
      if (error instanceof StatusError && error.limit) {
        reports.reached(error.limit as LimitName, request.socket, { user: asker.name })
      }
      if (error instanceof StatusError && !response.headersSent)
        sendStatusError(exchange, error, errorEncoding(request.headers.accept))
      else throw error
    } finally {
      // A watch has brought its client up to date: the backlog of the watches counts what follows.
      if (isLong) answers.leave(response)
      else answers.end(response, release)
      if (!isLong) {
        metrics.inFlight[kind]--
        const seconds = (api.clock.machine.monotonic() - startMs) / 1000
        const dryRun = info.query.has('dryRun')
        metrics.observe({ attributes, version: info.target?.version ?? '', code: response.statusCode, seconds, dryRun })
      }
    }
  }
  return (request, response, url, upgrade) => {
    if (cors(request, response)) return
    serve(request, response, url, upgrade).catch((error: unknown) => fail({ api, request, response }, error))
  }
}

function fail(
  { api, request, response }: { api: ApiContext; request: IncomingMessage; response: ServerResponse },
  error: unknown,
): void {
  const known = knownError(error)
  if (!known) api.log.error({ err: error, method: request.method, url: request.url }, 'request failed')
  if (response.headersSent) return void response.destroy()
  try {
    sendStatusError({ request, response }, known ?? internalError((error as Error).message))
  } catch (another) {
    api.log.error({ err: another, method: request.method, url: request.url }, 'no answer could be given')
    response.destroy()
  }
}

/** Errors that are no bug of the server, and get no line in the log: on a full disk each write would be one. */
function knownError(error: unknown): StatusError | undefined {
  if (error instanceof StatusError) return error
  if (error instanceof StorageFullError) return internalError(error.message)
  return isTooDeep(error) ? badRequest('json: exceeded max depth') : undefined
}

/** Every walk over a body is recursive: one that is nested too deeply for any ends here, and is the client's fault. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError && error.message === 'Maximum call stack size exceeded'

const readOnly = new Set(['get', 'list', 'watch', 'head', 'options'])
const longRunning = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** What may go on for as long as the client wants counts for nobody's limit. */
const isLongRunning = ({ verb, resource }: Attributes): boolean =>
  verb === 'watch' || (resource?.subresource !== undefined && longRunning.has(resource.subresource))

/** Lists weigh as much as upstream's work estimator gives them at the most. */
const weightOf = ({ verb }: Attributes): number => (verb === 'list' ? 10 : 1)

const sendTooManyRequests = (exchange: Exchange): void =>
  sendText(exchange, 429, 'Too many requests, please try again later.\n', { 'retry-after': '1' })

const hasBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

const verbs = new Map([
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

function attributesOf({ method, path, query, target }: RequestInfo, user: User): Attributes {
  if (!target) return { user, verb: method.toLowerCase(), path }
  const { group, resource, subresource, namespace } = target
  const fieldSelector = query.get('fieldSelector') ?? undefined
  const verb = verbOf({ method, query, target })
  // Who lists one object by its name asks for that object.
  const name = target.name ?? (verb === 'deletecollection' ? undefined : selectedName(fieldSelector))
  return { user, path, verb, resource: { group, resource, subresource, namespace, name, fieldSelector } }
}

/** A malformed selector names nothing: the request is refused for it later. */
function selectedName(fieldSelector: string | undefined): string | undefined {
  if (!fieldSelector?.includes('metadata.name')) return undefined
  try {
    const named = parseFieldSelector(fieldSelector).find(({ field, equal }) => equal && field === 'metadata.name')
    return named && /^(?!\.{1,2}$)[^/%]+$/.test(named.value) ? named.value : undefined
  } catch {
    return undefined
  }
}

function verbOf({
  method,
  query,
  target,
}: Pick<RequestInfo, 'method' | 'query'> & { target: NonNullable<RequestInfo['target']> }): string {
  if (target.watchPrefix) return 'watch'
  if (method === 'GET' || method === 'HEAD') {
    if (target.name !== undefined) return 'get'
    return booleanParameter(query, 'watch') ? 'watch' : 'list'
  }
  if (method === 'DELETE' && target.name === undefined) return 'deletecollection'
  return verbs.get(method) ?? method.toLowerCase()
}
