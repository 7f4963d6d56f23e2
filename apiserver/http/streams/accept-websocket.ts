import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { Upgrade } from '../../../shared/http/upgrades.ts'
import type { Exchange } from '../exchange.ts'

export const asksForWebSocket = ({ request }: Exchange): boolean => /^websocket$/i.test(request.headers.upgrade ?? '')

/** Answers the handshake, with `protocol` if it is given. The library is loaded with the first WebSocket. */
export async function acceptWebSocket(exchange: Exchange, upgrade: Upgrade, protocol?: string): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws')
  const handleProtocols = protocol === undefined ? undefined : () => protocol
  const server = new WebSocketServer({ noServer: true, clientTracking: false, handleProtocols })
  exchange.takeOver().detachSocket(upgrade.socket as Socket)
  return new Promise((resolve, reject) => {
    upgrade.socket.once('close', () => reject(badRequest('the client has gone')))
    server.handleUpgrade(exchange.request, upgrade.socket, upgrade.head, (socket) => {
      socket.on('error', () => socket.terminate())
      resolve(socket)
    })
  })
}
