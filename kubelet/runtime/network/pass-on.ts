import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { NetworkPlace, NodeNetwork } from './node-network.ts'

/** A pod that does not answer by then is taken for one that refuses. */
const CONNECT_MS = 10_000

/** Passes a connection of the machine on into the network of a node. One that fails there is reset. */
export function passOn(network: Pick<NodeNetwork, 'connect'>, socket: Socket, to: NetworkPlace): void {
  socket.on('error', () => {})
  network.connect({ ...to, timeoutMs: CONNECT_MS }).then(
    (inner) => {
      inner.allowHalfOpen = true
      pipeline(socket, inner, socket, () => {})
    },
    () => socket.resetAndDestroy(),
  )
}
