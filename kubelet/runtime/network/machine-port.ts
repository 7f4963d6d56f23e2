import { once } from 'node:events'
import { createServer } from 'node:net'
import type { NetworkPlace, NodeNetwork, Served } from './node-network.ts'
import { passOn } from './pass-on.ts'

/** A pod that does not answer by then is taken for one that refuses. */
const CONNECT_MS = 10_000

export interface MachinePort {
  port: number
  /** Names one address of the machine; default: all. */
  host?: string
}

/**
 * Serves TCP at a port of this machine: what comes there is passed on into the network of a node. Rejects when the port
 * is taken. Connections go on until their ends close them.
 */
export async function serveMachinePort(
  network: Pick<NodeNetwork, 'connect'>,
  { port, host }: MachinePort,
  to: () => NetworkPlace,
): Promise<Served> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void passOn(socket, network.connect({ ...to(), timeoutMs: CONNECT_MS }))
  })
  await once(server.listen(port, host), 'listening')
  server.unref()
  return { close: () => void server.close() }
}
