import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Session, IncomingHttpHeaders, SecureServerOptions, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import fastify from 'fastify'
import type { ApiServerConfig } from '../config.ts'
import type { Dispatch } from './dispatch.ts'
import { Http2Request, Http2Response } from './http2-exchange.ts'

export interface Listener {
  port: number
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

const requestTimeoutMs = 60_000
/** Not by import: that would load all that node:http exports, and so 16 MB of fetch and WebSocket that nobody here uses. */
const { METHODS, ServerResponse: Response } = process.getBuiltinModule('node:http')
/** What else a client may offer to speak, it is answered in HTTP/1.1. */
const isUpgrade = ({ headers }: IncomingMessage): boolean => /^(websocket|spdy\/3\.1)$/i.test(headers.upgrade ?? '')
/** Between the end of the watches and that of the connections. */
const graceMs = 50

/** Many watches share one connection, and many of them come and go at once: neither is an attack here. */
const http2Options: SecureServerOptions = {
  maxSessionMemory: 1000,
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
  settings: { maxConcurrentStreams: 100_000 },
}

function noSchemas(): never {
  throw new Error('no route has a schema')
}

/** HTTP/2 and HTTP/1.1 over TLS on one port. Kubernetes' URLs have a grammar of their own, so there is but one route. */
export async function listen(config: ApiServerConfig, dispatch: Dispatch): Promise<Listener> {
  const { host, port, tls, requestTimeoutMs: requestTimeout = requestTimeoutMs } = config
  const app = fastify({
    http2: true,
    https: {
      ...http2Options,
      allowHTTP1: true,
      cert: tls.cert,
      key: tls.key,
      ca: tls.clientCa,
      requestCert: true,
      // Strangers learn with a 401 that they are strangers.
      rejectUnauthorized: false,
    },
    requestTimeout,
    // Its own compilers of schemas would be loaded, and never used: 4 MB.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    rewriteUrl: () => '/',
    exposeHeadRoutes: false,
  })
  // Bodies are read by those who want them.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.route({
    method: METHODS,
    url: '/',
    handler(request, reply) {
      reply.hijack()
      dispatch(request.raw as unknown as IncomingMessage, reply.raw as unknown as ServerResponse, request.originalUrl)
    },
  })
  const { server } = app
  // Streams go the short way; fastify keeps HTTP/1.1 requests and upgrades.
  server.removeAllListeners('stream')
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const [request, response] = [new Http2Request(stream, headers), new Http2Response(stream)]
    dispatch(request as unknown as IncomingMessage, response as unknown as ServerResponse, request.url)
  })
  Object.assign(server, { shouldUpgradeCallback: isUpgrade })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new Response(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.on('finish', () => socket.end())
    socket.on('error', () => socket.destroy())
    dispatch(request, response, request.url ?? '/', { socket, head })
  })
  const sessions = new Set<Http2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.on('close', () => sessions.delete(session))
  })
  const sockets = new Set<Socket>()
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await app.listen({ host, port })
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
      const closed = app.close()
      for (const session of sessions) session.close()
      // What is being answered gets a moment; connections that are only kept open would wait for ever.
      await config.clock.machine.sleep(graceMs)
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroySoon()
      await closed
    },
  }
}
