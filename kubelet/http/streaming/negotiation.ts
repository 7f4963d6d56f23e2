import type { IncomingMessage } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Upgrade } from '../../../shared/http/upgrades.ts'
import { Problem } from '../problem.ts'

/** A request that wants its connection for itself. */
export interface UpgradeRequest extends Upgrade {
  request: IncomingMessage
  /** Runs before the connection is answered in another protocol than HTTP. */
  takeOver(): void
}

export const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket'
export const isSpdy = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'spdy/3.1'

const protocolHeader = 'X-Stream-Protocol-Version'

/** Agrees on the first of the client's protocols that is `supported`; from then on the connection speaks SPDY. */
export function acceptSpdyUpgrade(upgrade: UpgradeRequest, supported: readonly string[]): string {
  const { request, socket, head } = upgrade
  const offered = listOf(request.headers[protocolHeader.toLowerCase()])
  if (offered.length === 0) throw new Problem(400, `${protocolHeader} header is required`)
  const protocol = offered.find((entry) => supported.includes(entry))
  if (protocol === undefined) {
    throw new Problem(
      403,
      `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${supported.join(' ')}]`,
      { 'X-Accepted-Stream-Protocol-Versions': supported.join(', ') },
    )
  }
  upgrade.takeOver()
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1']
  socket.write([...lines, `${protocolHeader}: ${protocol}`, '', ''].join('\r\n'))
  if (head.length > 0) socket.unshift(head)
  return protocol
}

export interface AcceptedWebSocket {
  /** Paused, so that nothing gets lost until there is a listener. */
  socket: WebSocket
  /** Names the protocol; empty if the client named none. */
  protocol: string
}

/** As upstream's golang.org/x/net/websocket takes them, fragments together. */
const maxMessageBytes = 32 * 1024 * 1024
/** A client that does not read what it is sent gets no more answers to its pings. */
const maxUnreadBytes = 64 * 1024

/**
 * Agrees on the first of the client's WebSocket protocols that is `supported`. If `supported` has an empty entry, the
 * client need not name a protocol. Throws a Problem with code 400 if there is no common protocol.
 */
export function acceptWebSocket(upgrade: UpgradeRequest, supported: readonly string[]): Promise<AcceptedWebSocket> {
  const { request, socket, head } = upgrade
  const offered = listOf(request.headers['sec-websocket-protocol'])
  const protocol = offered.find((entry) => supported.includes(entry))
  if (protocol === undefined && (offered.length > 0 || !supported.includes(''))) {
    throw new Problem(400, `unable to negotiate protocol: client supports [${offered.join(' ')}]`)
  }
  upgrade.takeOver()
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, autoPong: false })
  // Kubernetes' own names have a slash, which RFC 6455 forbids and `ws` refuses: it is not to see them.
  delete request.headers['sec-websocket-protocol']
  if (protocol) server.on('headers', (lines) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`))
  return new Promise((resolve) =>
    server.handleUpgrade(request, socket, head, (accepted) => {
      accepted.pause()
      accepted.on('ping', (data) => {
        if (accepted.bufferedAmount < maxUnreadBytes) accepted.pong(data)
      })
      resolve({ socket: accepted, protocol: protocol ?? '' })
    }),
  )
}

const listOf = (header: string | string[] | undefined): string[] =>
  [header ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter(Boolean)
