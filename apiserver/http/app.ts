import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyRequest } from 'fastify'
import type { Client } from '../../shared/client/client.ts'
import { withoutSchemas } from '../../shared/http/without-schemas.ts'
import type { Aggregation } from '../aggregation/aggregation.ts'
import { anonymousUser } from '../auth/anonymous.ts'
import { aggregated, type Forward } from './aggregation/forward.ts'
import type { ApiContext } from './api-context.ts'
import { attributesOf } from './attributes.ts'
import { Bodies } from './body/bodies.ts'
import { createCors } from './cors.ts'
import { createErrorHandler } from './error-handler.ts'
import type { Exchange } from './exchange.ts'
import { type AuthenticationOptions, authentication } from './hooks/authentication.ts'
import { authorization } from './hooks/authorization.ts'
import { deadline } from './hooks/deadline.ts'
import { type FlowControlOptions, flowControl } from './hooks/flow-control.ts'
import { instruments } from './hooks/instruments.ts'
import { requestInfo } from './hooks/request-info.ts'
import { asHook, type Step } from './hooks/step.ts'
import { unreadAnswers } from './hooks/unread-answers.ts'
import type { Limits } from './limits/limits.ts'
import type { KubernetesRequest, NamedPlugin } from './plugins/plugin.ts'
import { refuse, resourceRoutes } from './resources/resource-routes.ts'
import { routableUrl } from './routable.ts'
import { asHandler } from './routing/handle.ts'
import type { PathRoutes, Roots } from './routing/paths.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The request as Kubernetes' API sees it: what its URL means, its user, and its verb. */
    exchange: Exchange
  }
  interface FastifyReply {
    /** True if hooks of plugins see the whole answer: then each answer that ends is sent through Fastify. */
    isObserved: boolean
  }
}

export interface AppOptions extends AuthenticationOptions, Omit<FlowControlOptions, 'monotonicMs'> {
  api: ApiContext
  /** Knows which group versions other servers serve. */
  aggregation: Aggregation
  forward: Forward
  paths: readonly PathRoutes[]
  roots: Roots
  limits: Limits
  /** Present where other servers write as well. */
  freshness?: Step
  plugins: readonly NamedPlugin[]
  /** Returns an administrator's client that uses no network. */
  client(): Client
  /** Origins that pages may come from, as regular expressions. */
  corsAllowedOrigins?: readonly string[]
  /** The server that gives all requests to the handler, of HTTP/1.1 and of HTTP/2. */
  serverFactory(handler: (request: IncomingMessage, response: ServerResponse) => void): Server
  clientErrorHandler(error: NodeJS.ErrnoException, socket: import('node:net').Socket): void
}

/**
 * Builds the Fastify application through which every request passes. The steps before a request's handler are listed
 * here in their order; then the request goes to the handler of its resource or path. Resolves when the application is
 * ready.
 */
export async function buildApp(options: AppOptions): Promise<FastifyInstance<Server>> {
  const { api, authenticators, authorizers, answers, watchdog, limits, reports, plugins } = options
  const { machine } = api.clock
  const monotonicMs = (): number => machine.monotonic()
  const extension = plugins.length > 0 ? await import('./plugins/extension.ts') : undefined
  const routedMethods = new Set<string>()
  const app = fastify<Server>({
    serverFactory: options.serverFactory,
    clientErrorHandler: options.clientErrorHandler,
    rewriteUrl: (request) => routableUrl(request as unknown as IncomingMessage, routedMethods),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: Number.MAX_SAFE_INTEGER },
    bodyLimit: limits.maxRequestBodyBytes,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    allowErrorHandlerOverride: false,
    ...(extension ? extension.settings(api.log) : withoutSchemas),
  })
  app.addHook('onRoute', ({ method }) => {
    for (const routed of [method].flat()) routedMethods.add(routed)
  })
  const cors = createCors(options.corsAllowedOrigins ?? [])
  app.decorateRequest('exchange', null as unknown as Exchange)
  app.decorateRequest('kubernetes', { getter: kubernetesRequest })
  app.decorateReply('isObserved', plugins.length > 0)
  extension?.reportCutAnswers(app)
  extension?.noteSending(app)
  const begin = requestInfo({ watchdog, bodies: new Bodies(limits), limits: api.registry.limits, monotonicMs })
  const steps: Step[] = [
    ...(options.freshness ? [options.freshness] : []),
    authentication({ authenticators, authorizers, connections: options.connections, audit: options.audit }),
    deadline,
    instruments(api),
    flowControl({ ...options, monotonicMs }),
    authorization(authorizers),
    unreadAnswers(answers),
    aggregated(options.aggregation, options.forward),
  ]
  const first = asHook((request, reply) => (cors(request.raw, reply.raw) ? undefined : begin(request, reply)), steps)
  app.addHook('onRequest', first)
  app.setErrorHandler(createErrorHandler({ log: api.log, reports, maxCauseBytes: limits.maxStatusCauseBytes }))
  const explain = extension?.registerPlugins(app, options)
  app.register(kubernetes(options))
  await app.ready().then(undefined, (error) => {
    throw explain ? explain(error) : error
  })
  return app
}

/** Returns the request as plugins see it; it has no user before authentication. */
function kubernetesRequest(this: FastifyRequest): KubernetesRequest {
  const { attributes, info } = this.exchange
  return attributes ?? { ...attributesOf(info, anonymousUser), user: undefined }
}

/** Serves what a Kubernetes API server serves. */
const kubernetes =
  ({ api, paths, roots }: AppOptions): FastifyPluginAsync =>
  async (app) => {
    keepBodies(app)
    for (const path of paths) roots.add(app, path)
    resourceRoutes(app, api)
    app.setNotFoundHandler(asHandler((exchange) => refuse(api, exchange)))
  }

/** Hides headers from Fastify; the client's own stay in `request.raw`. */
const noBody = { 'content-type': undefined, 'content-length': undefined, 'transfer-encoding': undefined }

/**
 * Kubernetes has its own opinion of media types, and of when a body is read: after the kind was found, and the method.
 */
function keepBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.method !== 'GET') request.headers = noBody
    done()
  })
}
