import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import fastify from 'fastify'
import type { Dispatch } from './dispatch.ts'

/** Not by import: that would load all that node:http exports, and so 16 MB of fetch and WebSocket that nobody here uses. */
const { METHODS } = process.getBuiltinModule('node:http')

function noSchemas(): never {
  throw new Error('no route has a schema')
}

/** Lets fastify answer what comes to this server in HTTP/1.1. Kubernetes' URLs have a grammar of their own, so there is but one route. */
export async function serveHttp1(
  server: Server,
  dispatch: Dispatch,
  onError: (error: NodeJS.ErrnoException, socket: Socket) => void,
): Promise<void> {
  const app = fastify<Server>({
    serverFactory: (handler) => server.on('request', handler),
    // Its own compilers of schemas would be loaded, and never used: 4 MB.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    rewriteUrl: () => '/',
    exposeHeadRoutes: false,
    clientErrorHandler: onError,
  })
  // Bodies are read by those who want them.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.route({
    method: METHODS,
    url: '/',
    handler(request, reply) {
      reply.hijack()
      const raw = request.raw as unknown as IncomingMessage
      raw.url = request.originalUrl
      dispatch(raw, reply.raw as unknown as ServerResponse, request.originalUrl)
    },
  })
  await app.ready()
}
