import { once } from 'node:events'
import { createServer } from 'node:net'
import { type DatagramRelayOptions, serveDatagrams } from './datagram-relay.ts'
import type { NetworkPlace, NodeNetwork, Served } from './node-network.ts'
import { passOn } from './pass-on.ts'

/** A pod that does not answer by then is taken for one that refuses. */
const CONNECT_MS = 10_000

export interface MachinePort {
  protocol: 'tcp' | 'udp'
  port: number
  /** Names one address of the machine; default: all. */
  host?: string
}

export interface MachinePortOptions extends DatagramRelayOptions {
  network: Pick<NodeNetwork, 'bind' | 'connect' | 'place'>
}

/**
 * Serves a port of this machine: what comes there is passed on into the network of a node, to the place that `to` names
 * then. Rejects when the port is taken. Connections go on until their ends close them.
 */
export async function serveMachinePort(
  options: MachinePortOptions,
  { protocol, port, host }: MachinePort,
  to: () => NetworkPlace,
): Promise<Served> {
  if (protocol === 'udp') return serveDatagrams(options, { host: host ?? '0.0.0.0', port }, to)
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void passOn(socket, options.network.connect({ ...to(), timeoutMs: CONNECT_MS }))
  })
  await once(server.listen(port, host), 'listening')
  server.unref()
  return { close: () => void server.close() }
}
