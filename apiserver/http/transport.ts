import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../shared/clock/clock.ts'
import { OrderedResponse, serveUpgrades } from '../../shared/http/upgrades.ts'
import { Http2Connection } from '../../shared/http2/server/connection.ts'
import type { ApiServerConfig } from '../config.ts'
import type { ClientLimits } from './limits/client-limits.ts'
import type { Connections, Tracked } from './limits/connections.ts'
import type { Handshakes } from './limits/handshakes.ts'
import { type LimitName, type Limits, limitTable } from './limits/limits.ts'
import { sweepsPerTimeout } from './limits/sweeps.ts'
import type { NodeHttp2Options } from './node-http2/connection.ts'
import { listenBeside, type PortBeside } from './port-beside.ts'

export interface Listener {
  port: number
  /** The port at which the server alone answers is there if others share `port`. */
  ownPort?: number
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

/** Returns whether a client asks for an upgrade that is served; other offers are answered in HTTP/1.1. */
const isUpgrade = ({ headers }: IncomingMessage): boolean => /^(websocket|spdy\/3\.1)$/i.test(headers.upgrade ?? '')
/** Between the end of the watches and that of the connections. */
const graceMs = 50
/** After the answer to what is no request, as Go's server. */
const lingerMs = 500

/** A connection that breaks is the client's affair; handlers hear of it by `close`. HTTP/2 says nothing else. */
const ignore = (): void => {}

/** A connection of HTTP/2, by our own implementation or by Node's. */
interface Http2ServerConnection extends Tracked {
  close(): void
  destroy(): void
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface TransportOptions {
  config: Pick<ApiServerConfig, 'host' | 'port' | 'ownPort' | 'tls' | 'clock' | 'http2'>
  limits: Limits
  handshakes: Handshakes
  tracked: Connections
  reports: ClientLimits
}

type Http2ServerOptions = Omit<NodeHttp2Options, 'onRequest'> & {
  /** Receives a request and a response that look like those of HTTP/1.1. */
  onRequest(request: unknown, response: unknown): void
}

/** HTTP/2 (our own, or Node's) and HTTP/1.1 (Node's) over TLS on one port. Both give their requests to one handler. */
export class Transport {
  readonly #options: TransportOptions
  readonly #server: Server
  readonly #connections = new Set<Http2ServerConnection>()
  readonly #sockets = new Set<Socket>()
  readonly #serveHttp1: (socket: TLSSocket) => void
  #own: PortBeside | undefined
  #Http2: new (socket: TLSSocket, options: Http2ServerOptions) => Http2ServerConnection = Http2Connection
  #handler: Handler = () => {}

  constructor(options: TransportOptions) {
    this.#options = options
    const { handshakes, reports } = options
    this.#server = createServer({ ServerResponse: OrderedResponse, ...serverOptions(options) })
    const [ofNode] = this.#server.listeners('secureConnection') as [(socket: TLSSocket) => void]
    this.#serveHttp1 = (socket) => ofNode.call(this.#server, socket)
    this.#server.removeAllListeners('secureConnection')
    this.#server.on('timeout', (socket: Socket) => {
      reports.reached('idleTimeout', socket)
      socket.destroy()
    })
    this.#server.on('connection', (socket: Socket) => handshakes.begun(socket))
    this.#server.on('secureConnection', (socket) => this.#accept(socket))
  }

  /**
   * Gives all requests to the handler, also those for another protocol. A connection that breaks is no error of the
   * server.
   */
  serve(handler: Handler): Server {
    this.#handler = handler
    const handleHttp1: Handler = (request, response) => {
      request.on('error', ignore)
      response.on('error', ignore)
      handler(request, response)
    }
    this.#server.on('request', handleHttp1)
    Object.assign(this.#server, { shouldUpgradeCallback: isUpgrade })
    serveUpgrades(this.#server, handleHttp1)
    return this.#server
  }

  /** Answers bytes that are no request, in the words of a real server. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    refuse(error, socket, { clock: this.#options.config.clock.machine, reports: this.#options.reports })
  }

  /** The one that is asked for, until the server listens. */
  get port(): number {
    const address = this.#server.address() as AddressInfo | null
    return address?.port ?? this.#options.config.port
  }

  async listen(): Promise<Listener> {
    const { host, port, ownPort, http2 } = this.#options.config
    if (http2 === 'node') this.#Http2 = (await import('./node-http2/connection.ts')).NodeHttp2Connection
    const own = ownPort === undefined ? undefined : await listenBeside(this.#server, { host, port: ownPort })
    await once(this.#server.listen({ host, port, reusePort: own !== undefined }), 'listening').catch((error) => {
      own?.close()
      throw error
    })
    this.#own = own
    return { port: this.port, ownPort: own?.port, close: () => this.#close() }
  }

  #accept(socket: TLSSocket): void {
    const { handshakes, tracked } = this.#options
    handshakes.done(socket)
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    if (socket.alpnProtocol === 'h2') this.#serveHttp2(socket)
    else if (tracked.add(socket, undefined, socket.authorized)) this.#serveHttp1(socket)
  }

  #serveHttp2(socket: TLSSocket): void {
    if (socket.destroyed) return
    const { config, limits, tracked, reports } = this.#options
    const { http2MaxStreamsPerConnection: streams, requestReadTimeout } = limits
    const connection = new this.#Http2(socket, {
      clock: config.clock.machine,
      requestTimeoutMs: requestReadTimeout,
      maxUnreadBytes: limits.maxUnreadBytesPerConnection,
      onRequest: (request, response) => this.#handler(request as IncomingMessage, response as ServerResponse),
      maxStreams: { anonymous: Math.min(streams, limits.http2MaxStreamsPerAnonymousConnection), identified: streams },
      isIdentified: socket.authorized,
      onLimit: (limit) => reports.reached(limit, socket),
    })
    if (!tracked.add(socket, connection, socket.authorized)) return
    this.#connections.add(connection)
    socket.on('close', () => this.#connections.delete(connection))
  }

  async #close(): Promise<void> {
    const { tracked, config } = this.#options
    tracked.close()
    const closed = Promise.all([new Promise((resolve) => this.#server.close(resolve)), this.#own?.close()])
    for (const connection of this.#connections) connection.close()
    // What is being answered gets a moment; connections that are only kept open would wait for ever.
    await config.clock.machine.sleep(graceMs)
    for (const connection of this.#connections) connection.destroy()
    for (const socket of this.#sockets) socket.destroySoon()
    await closed
  }
}

function serverOptions({ config: { tls }, limits }: TransportOptions): ServerOptions {
  const { requestReadTimeout } = limits
  return {
    ALPNProtocols: ['h2', 'http/1.1'],
    cert: tls.cert,
    key: tls.key,
    ca: tls.clientCa,
    requestCert: true,
    // Unauthenticated clients get 401 instead of a TLS error.
    rejectUnauthorized: false,
    requestTimeout: requestReadTimeout,
    headersTimeout: requestReadTimeout,
    connectionsCheckingInterval: Math.ceil(requestReadTimeout / sweepsPerTimeout),
    maxHeaderSize: limitTable.requestHead.default,
    keepAliveTimeout: limits.idleTimeout,
    // Later than ours, which knows the client's address.
    handshakeTimeout: 2 * limits.handshakeTimeout,
  }
}

const errorsOfHttp1: Record<string, { status: string; limit: LimitName }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', limit: 'requestReadTimeout' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', limit: 'requestHead' },
}

/**
 * Bytes that are no request: answered in the words of a real server. The client may still be sending, and reads the
 * answer only if we do not cut it off.
 */
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
