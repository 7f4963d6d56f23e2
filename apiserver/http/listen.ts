import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ApiServerConfig } from '../config.ts'
import type { Dispatch } from './dispatch.ts'
import { Http2Connection } from './http2/connection.ts'
import type { Http2Request } from './http2/request.ts'
import type { Http2Response } from './http2/response.ts'
import type { Connections } from './limits/connections.ts'
import type { Handshakes } from './limits/handshakes.ts'
import type { Limits } from './limits/limits.ts'
import { OrderedResponse, serveUpgrades } from './upgrades.ts'

export interface Listener {
  port: number
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

const requestTimeoutMs = 60_000
const keepAliveTimeoutMs = 72_000
/** What else a client may offer to speak, it is answered in HTTP/1.1. */
const isUpgrade = ({ headers }: IncomingMessage): boolean => /^(websocket|spdy\/3\.1)$/i.test(headers.upgrade ?? '')
/** Between the end of the watches and that of the connections. */
const graceMs = 50

/** A connection that breaks is the client's affair; whoever waits for it hears of it by `close`. HTTP/2 says nothing else. */
const ignore = (): void => {}

/** HTTP/2 (our own) and HTTP/1.1 (fastify's) over TLS on one port. Fastify is loaded with the first client that wants it: Go's, and so kubectl, do not. */
export async function listen(
  config: ApiServerConfig,
  dispatch: Dispatch,
  { limits, handshakes, tracked }: { limits: Limits; handshakes: Handshakes; tracked: Connections },
): Promise<Listener> {
  const { host, port, tls, requestTimeoutMs: requestTimeout = requestTimeoutMs } = config
  const dispatchHttp1: Dispatch = (request, response, url, upgrade) => {
    request.on('error', ignore)
    response.on('error', ignore)
    dispatch(request, response, url, upgrade)
  }
  const onRequest = (request: Http2Request, response: Http2Response): void =>
    dispatch(request as unknown as IncomingMessage, response as unknown as ServerResponse, request.url)
  const server = createServer({
    ServerResponse: OrderedResponse,
    ALPNProtocols: ['h2', 'http/1.1'],
    cert: tls.cert,
    key: tls.key,
    ca: tls.clientCa,
    requestCert: true,
    // Strangers learn with a 401 that they are strangers.
    rejectUnauthorized: false,
    requestTimeout,
    keepAliveTimeout: keepAliveTimeoutMs,
    handshakeTimeout: limits.handshakeMs,
  })
  const connections = new Set<Http2Connection>()
  const sockets = new Set<Socket>()
  const [ofNode] = server.listeners('secureConnection') as [(socket: TLSSocket) => void]
  server.removeAllListeners('secureConnection')
  let http1: Promise<void> | undefined
  /** Nobody reads from the socket meanwhile: what it says first waits in it. */
  const serveInHttp1 = async (socket: TLSSocket): Promise<void> => {
    const end = (): void => void socket.destroy()
    socket.on('error', end)
    http1 ??= import('./http1.ts').then(({ serveHttp1 }) => serveHttp1(server, dispatchHttp1))
    await http1.catch(end)
    socket.off('error', end)
    if (!socket.destroyed) ofNode.call(server, socket)
  }
  server.on('connection', (socket: Socket) => handshakes.begun(socket))
  server.on('secureConnection', (socket) => {
    handshakes.done(socket)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    if (socket.alpnProtocol !== 'h2') {
      if (tracked.add(socket, undefined, socket.authorized)) void serveInHttp1(socket)
      return
    }
    const connection = new Http2Connection(socket, {
      clock: config.clock.machine,
      requestTimeoutMs: requestTimeout,
      onRequest,
      maxStreams: { anonymous: limits.anonymousStreams, identified: limits.streams },
    })
    if (!tracked.add(socket, connection, socket.authorized)) return
    connections.add(connection)
    socket.on('close', () => connections.delete(connection))
  })
  Object.assign(server, { shouldUpgradeCallback: isUpgrade })
  serveUpgrades(server, dispatchHttp1)
  await once(server.listen({ host, port }), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      tracked.close()
      const closed = new Promise((resolve) => server.close(resolve))
      for (const connection of connections) connection.close()
      // What is being answered gets a moment; connections that are only kept open would wait for ever.
      await config.clock.machine.sleep(graceMs)
      for (const connection of connections) connection.destroy()
      for (const socket of sockets) socket.destroySoon()
      await closed
    },
  }
}
