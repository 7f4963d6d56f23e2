import type { Socket } from 'node:net'
import { ANY_IP } from '../../shared/api/pods/host-ports.ts'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { machineAddresses } from '../runtime/network/machine-addresses.ts'
import { type NodeNetwork, type RefusedPort, type Served, TAKEN } from '../runtime/network/node-network.ts'
import { dialOut, passOn } from '../runtime/network/pass-on.ts'

export interface WayOutOptions {
  network: NodeNetwork
  clock: Clock
  /** Holds the range of cluster IPs. */
  services: string
  warn(error: unknown, what: string): void
}

/** No Service has this port at the node's address. */
const PORT = 15_001
/** A pod would wait for minutes if this were as long as a stock kernel waits for an answer. */
const CONNECT_MS = 30_000
const MOST = 1_024
/** The range of a cluster's pods is mostly this large, and a node knows but its part. */
const BITS = 16

/**
 * Lets pods reach addresses outside of the cluster by TCP: the node's network takes such a connection, and the kubelet
 * connects for the pod, as a process of this machine. So nothing of the machine is changed, and no right is needed.
 */
export async function serveWayOut({ network, clock, services, warn }: WayOutOptions): Promise<Served> {
  const { node = '' } = network.place ?? {}
  const inside = [new AddressRange(`${node}/${BITS}`).cidr, services]
  let open = 0
  const pass = (socket: Socket): void => {
    const { localAddress: host = '', localPort: port = 0 } = socket
    if (open === MOST || host === node) return void socket.resetAndDestroy()
    open++
    const dialed = dialRefused(network, host, port) ?? dialOut({ host, port }, { clock, timeoutMs: CONNECT_MS })
    void passOn(socket, dialed).then(() => open--)
  }
  const served = await network.take({ host: node, port: PORT }, pass)
  network
    .useRules('out', rulesOf(node, inside))
    .catch((error) =>
      warn(error, 'pods do not reach addresses outside of the cluster: that needs nft of the package nftables'),
    )
  return served
}

/** Connects to the pod whose host port of this machine is meant, where the machine itself does not open that. */
function dialRefused(network: NodeNetwork, host: string, port: number): Promise<Socket> | undefined {
  const isMeant = ({ ip, ...at }: RefusedPort): boolean =>
    at.port === port && at.protocol !== 'UDP' && (ip === ANY_IP ? machineAddresses().includes(host) : ip === host)
  const refused = network.refusedPorts.find(isMeant)
  return refused && network.connect({ host: refused.podIP, port: refused.containerPort, timeoutMs: CONNECT_MS })
}

/** Returns rules for nft that apply after those of Services, when a pod's address has replaced a cluster IP. */
const rulesOf = (node: string, inside: readonly string[]): string => `add table ip kubestage-out
delete table ip kubestage-out
table ip kubestage-out {
chain out {
type filter hook prerouting priority dstnat + 10
iifname != pods return
${inside.map((range) => `ip daddr ${range} return`).join('\n')}
meta l4proto tcp fib daddr type unicast meta mark set ${TAKEN} tproxy to ${node}:${PORT}
}
}
`
