import type { IncomingMessage, ServerResponse } from 'node:http'
import { StatusError } from '../../shared/api/status-error.ts'
import { badRequest, internalError } from '../../shared/api/status-errors.ts'
import { authenticate, authorize } from '../auth/chain.ts'
import { wantedUser } from '../auth/impersonation.ts'
import { impersonate } from '../auth/impersonation-modes.ts'
import type { Attributes, Authenticator, Authorizer, User } from '../auth/types.ts'
import type { ApiContext } from './api-context.ts'
import { Exchange, type Upgrade } from './exchange.ts'
import { intercept } from './instruments/intercept.ts'
import { errorEncoding } from './negotiation.ts'
import type { PathRoutes } from './path-routes.ts'
import { withReason } from './reason-prefix.ts'
import { booleanParameter, parseRequestInfo, type RequestInfo } from './request-info.ts'
import { serveResource } from './resource-routes.ts'
import { sendStatusError } from './respond.ts'

export interface DispatchOptions {
  api: ApiContext
  authenticators: readonly Authenticator[]
  authorizers: readonly Authorizer[]
  /** What is no resource. */
  paths: PathRoutes
}

export type Dispatch = (request: IncomingMessage, response: ServerResponse, url: string, upgrade?: Upgrade) => void

/** From a request to its handler: who asks, may they, what for. Nothing thrown on the way gets past it. */
export function createDispatch({ api, authenticators, authorizers, paths }: DispatchOptions): Dispatch {
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    url: string,
    upgrade: Upgrade | undefined,
  ): Promise<void> => {
    const { method = 'GET' } = request
    const info = parseRequestInfo(method, withReason(method, url))
    const asker = authenticate(authenticators, { headers: request.headers, socket: request.socket })
    const wanted = wantedUser(request.headers)
    const user = wanted ? await impersonate(authorizers, wanted, attributesOf(info, asker)) : asker
    const attributes = attributesOf(info, user)
    const exchange = new Exchange({ request, response, upgrade }, info, user)
    const { journal, faults } = api.instruments
    if ((journal.isOpen || faults.size > 0) && (await intercept(api, exchange, attributes))) return
    const refused = authorize(authorizers, attributes)
    if (refused) await refused
    try {
      await (info.target ? serveResource(api, exchange, info.target) : paths.serve(exchange))
    } catch (error) {
      // Warnings belong to a refusal as well.
      if (error instanceof StatusError && !response.headersSent)
        sendStatusError(exchange, error, errorEncoding(request.headers.accept))
      else throw error
    }
  }
  return (request, response, url, upgrade) => {
    request.on('error', ignore)
    response.on('error', ignore)
    serve(request, response, url, upgrade).catch((error: unknown) => fail({ api, request, response }, error))
  }
}

/** A connection that breaks is the client's affair; whoever waits for it hears of it by `close`. */
const ignore = (): void => {}

function fail(
  { api, request, response }: { api: ApiContext; request: IncomingMessage; response: ServerResponse },
  error: unknown,
): void {
  const known =
    error instanceof StatusError ? error : isTooDeep(error) ? badRequest('json: exceeded max depth') : undefined
  if (!known) api.log.error({ err: error, method: request.method, url: request.url }, 'request failed')
  if (response.headersSent) response.destroy()
  else sendStatusError({ request, response }, known ?? internalError((error as Error).message))
}

/** Every walk over a body is recursive: one that is nested too deeply for any ends here, and is the client's fault. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError && error.message === 'Maximum call stack size exceeded'

const verbs: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

function attributesOf({ method, path, query, target }: RequestInfo, user: User): Attributes {
  if (!target) return { user, verb: method.toLowerCase(), path }
  const { group, resource, subresource, namespace } = target
  const fieldSelector = query.get('fieldSelector') ?? undefined
  const verb = verbOf({ method, query, target })
  // Who lists one object by its name asks for that object.
  const name = target.name ?? (verb === 'deletecollection' ? undefined : selectedName(fieldSelector))
  return { user, path, verb, resource: { group, resource, subresource, namespace, name, fieldSelector } }
}

const selectedName = (fieldSelector: string | undefined): string | undefined =>
  fieldSelector && /(?:^|,)metadata\.name==?([^,/%]+)(?:,|$)/.exec(fieldSelector)?.[1]

function verbOf({
  method,
  query,
  target,
}: Pick<RequestInfo, 'method' | 'query'> & { target: NonNullable<RequestInfo['target']> }): string {
  if (method === 'GET' || method === 'HEAD') {
    if (target.watchPrefix) return 'watch'
    if (target.name !== undefined) return 'get'
    return booleanParameter(query, 'watch') ? 'watch' : 'list'
  }
  if (method === 'DELETE' && target.name === undefined) return 'deletecollection'
  return verbs[method] ?? method.toLowerCase()
}
