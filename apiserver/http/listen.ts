import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../shared/clock/clock.ts'
import type { ApiServerConfig } from '../config.ts'
import type { Dispatch } from './dispatch.ts'
import { Http2Connection } from './http2/connection.ts'
import type { Http2Request } from './http2/request.ts'
import type { Http2Response } from './http2/response.ts'
import type { ClientLimits } from './limits/client-limits.ts'
import type { Connections } from './limits/connections.ts'
import type { Handshakes } from './limits/handshakes.ts'
import { type LimitName, type Limits, limitTable } from './limits/limits.ts'
import { OrderedResponse, serveUpgrades } from './upgrades.ts'

interface ListenLimits {
  limits: Limits
  handshakes: Handshakes
  tracked: Connections
  reports: ClientLimits
}

export interface Listener {
  port: number
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

/** Of HTTP/1.1: connections whose request takes too long are looked for so often per timeout. */
const sweepsPerTimeout = 4
/** What else a client may offer to speak, it is answered in HTTP/1.1. */
const isUpgrade = ({ headers }: IncomingMessage): boolean => /^(websocket|spdy\/3\.1)$/i.test(headers.upgrade ?? '')
/** Between the end of the watches and that of the connections. */
const graceMs = 50
/** After the answer to what is no request, as Go's server. */
const lingerMs = 500

/** A connection that breaks is the client's affair; whoever waits for it hears of it by `close`. HTTP/2 says nothing else. */
const ignore = (): void => {}

/** HTTP/2 (our own) and HTTP/1.1 (fastify's) over TLS on one port. Fastify is loaded with the first client that wants it: Go's, and so kubectl, do not. */
export async function listen(
  config: ApiServerConfig,
  dispatch: Dispatch,
  { limits, handshakes, tracked, reports }: ListenLimits,
): Promise<Listener> {
  const { host, port, tls } = config
  const clock = config.clock.machine
  const { requestReadTimeout, http2MaxStreamsPerConnection: streams } = limits
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
    requestTimeout: requestReadTimeout,
    headersTimeout: requestReadTimeout,
    connectionsCheckingInterval: requestReadTimeout / sweepsPerTimeout,
    maxHeaderSize: limitTable.requestHead.default,
    keepAliveTimeout: limits.idleTimeout,
    // Later than ours, which knows the client's address.
    handshakeTimeout: 2 * limits.handshakeTimeout,
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
    http1 ??= import('./http1.ts').then(({ serveHttp1 }) =>
      serveHttp1(server, dispatchHttp1, (error, broken) => refuse(error, broken, { clock, reports })),
    )
    await http1.catch(end)
    socket.off('error', end)
    if (!socket.destroyed) ofNode.call(server, socket)
  }
  server.on('timeout', (socket: Socket) => {
    reports.reached('idleTimeout', socket)
    socket.destroy()
  })
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
      clock,
      requestTimeoutMs: requestReadTimeout,
      onRequest,
      maxStreams: { anonymous: Math.min(streams, limits.http2MaxStreamsPerAnonymousConnection), identified: streams },
      onLimit: (limit) => reports.reached(limit, socket),
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
      await clock.sleep(graceMs)
      for (const connection of connections) connection.destroy()
      for (const socket of sockets) socket.destroySoon()
      await closed
    },
  }
}

const errorsOfHttp1: Record<string, { status: string; limit: LimitName }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', limit: 'requestReadTimeout' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', limit: 'requestHead' },
}

/** Bytes that are no request: answered in the words of a real server. The client may still be sending, and reads the answer only if we do not cut it off. */
function refuse({ code = '' }: NodeJS.ErrnoException, socket: Socket, { clock, reports }: Refusing): void {
  // After `Connection: close` the answer that is under way ends the connection.
  if (socket.destroyed || socket.writableEnded || code === 'HPE_CLOSED_CONNECTION') return
  const { status, limit } = errorsOfHttp1[code] ?? { status: '400 Bad Request' }
  if (limit) reports.reached(limit, socket)
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`)
  clock.setTimer(lingerMs, () => socket.destroy(), { background: true })
}

interface Refusing {
  clock: Clock
  reports: ClientLimits
}
