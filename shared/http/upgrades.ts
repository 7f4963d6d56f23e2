import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * An import would load all that node:http exports, among it 16 MB of fetch and WebSocket that the servers do not use.
 */
const { ServerResponse: Response } = process.getBuiltinModule('node:http')

/**
 * A connection that its client wants for another protocol (HTTP/1.1 only). The handler that takes it over answers in
 * that protocol.
 */
export interface Upgrade {
  socket: Duplex
  /** The bytes that followed the request. */
  head: Buffer
}

const latest = new WeakMap<Socket, ServerResponse>()
const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** The connection that a request wants for another protocol. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request)

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Replaces the response that Node's server makes for each request, also for those that it answers by itself. */
export class OrderedResponse extends Response<IncomingMessage> {
  constructor(...args: ConstructorParameters<typeof ServerResponse>) {
    super(...args)
    latest.set(args[0].socket, this)
  }
}

/**
 * Answers requests for another protocol, each in its turn. Node tells of one as soon as it is read, also while the
 * answers to earlier requests of the connection are still to come: the socket is theirs until then. The server's
 * answers are {@link OrderedResponse}s.
 */
export function serveUpgrades(server: Pick<Server, 'on'>, serve: Serve): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    // Node does so for all others: a body that does not come any more must not be waited for.
    socket.on('close', () => request.destroy())
    const earlier = latest.get(request.socket)
    if (!earlier || earlier.closed) serveUpgrade(serve, request, { socket, head })
    else earlier.once('close', () => socket.writable && serveUpgrade(serve, request, { socket, head }))
  })
}

function serveUpgrade(serve: Serve, request: IncomingMessage, upgrade: { socket: Socket; head: Buffer }): void {
  const { socket } = upgrade
  // An earlier answer has left the time that the next request may take to come.
  request.socket.setTimeout(0)
  const response = new Response(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on('finish', () => socket.end())
  upgrades.set(request, upgrade)
  serve(request, response)
}
