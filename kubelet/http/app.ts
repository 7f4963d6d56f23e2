import type { Server } from 'node:https'
import fastify, { type FastifyInstance } from 'fastify'
import { withoutSchemas } from '../../shared/http/without-schemas.ts'
import { authorize } from './access.ts'
import type { KubeletAppOptions } from './app-options.ts'
import { canonicalUrl, rootOf } from './canonical-url.ts'
import { createErrorHandler, createFrameworkErrorHandler } from './error-handler.ts'
import { lostNode } from './hooks/lost-node.ts'
import { upgrades } from './hooks/upgrades.ts'
import { notFound } from './not-found.ts'
import { debug } from './plugins/debug.ts'
import { health } from './plugins/health.ts'
import { logs } from './plugins/logs.ts'
import { metrics } from './plugins/metrics.ts'
import { podAddresses } from './plugins/pod-addresses.ts'
import { pods } from './plugins/pods.ts'
import { streams } from './plugins/streams.ts'

/** The Fastify application that answers the server's requests. Resolves when it is ready. */
export async function buildKubeletApp(options: KubeletAppOptions, server: Server): Promise<FastifyInstance> {
  const app = fastify({
    serverFactory: () => server,
    frameworkErrors: createFrameworkErrorHandler(options.log),
    rewriteUrl: (request) => {
      request.method = knownMethod(request.method)
      return canonicalUrl(request)
    },
    routerOptions: {
      maxParamLength: Number.MAX_SAFE_INTEGER,
      querystringParser: (text) => new URLSearchParams(text) as never,
    },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    ...withoutSchemas,
  })
  // Node answers bytes that are no request.
  server.removeAllListeners('clientError')
  // Fastify reads no bodies: the only handler that wants one reads it itself.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.addHook('onRequest', ({ raw, url }) => authorize(raw, rootOf(url), options.reviews))
  app.addHook('onRequest', lostNode(options.node))
  app.addHook('onRequest', upgrades)
  app.setErrorHandler(createErrorHandler(options.log))
  app.setNotFoundHandler(notFound)
  for (const plugin of [health, pods, metrics, logs, streams, podAddresses, debug]) app.register(plugin, options)
  await app.ready()
  return app
}

/** No path has it. */
const other = 'TRACE'
const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * All other methods are refused alike, so that each route is one for few methods: a kubelet's first request waits for
 * them.
 */
const knownMethod = (method = 'GET'): string => (known.has(method) ? method : other)
