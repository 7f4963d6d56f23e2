import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { TUNNEL_SELECTOR } from '../../shared/api/pods/network-labels.ts'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import type { Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { startInformer } from '../../shared/client/informer.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type EventRecorder, nodeReference } from '../events/event-recorder.ts'
import type { NetworkPlace, NodeNetwork, NodePlace, Served, Tunnel } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'

export interface TunnelOptions {
  network: Pick<NodeNetwork, 'useTunnel' | 'useRules' | 'onOpened' | 'place'>
  client: Client
  clock: Clock
  nodeName: string
  events: Pick<EventRecorder, 'event'>
  /** Names the node's address and the port of its kubelet: the UDP port of this number takes datagrams. */
  at: NetworkPlace
  /** Says why there can be no tunnel here; then it is only told. */
  why?: string
  warn(error: unknown, what: string): void
}

type Peer = Tunnel['peers'][number]

const DELAY_MS = 20

/**
 * Leads to the pods of nodes on other machines, by the kernel's VXLAN, as flannel does: a node needs to know of another
 * what its Node object says. Nodes that have a tunnel are known by their label.
 */
export function serveTunnel(options: TunnelOptions): Served {
  const { network, client, clock, nodeName, events, at, why, warn } = options
  const onFailure = (error: Error): void => {
    const message = `Pods of nodes on other machines are not reached: ${error.message}`
    warn(error, message)
    events.event(nodeReference(nodeName), 'Warning', 'PodTunnelFailed', message)
  }
  if (why !== undefined) {
    onFailure(new Error(why))
    return { close() {} }
  }
  const apply = async (): Promise<void> => {
    const { place } = network
    const device = deviceOf(at.host)
    if (!device)
      throw new Error(`${at.host} is no address of this machine that others reach; choose one with --node-ip`)
    if (!place || !others.hasSynced()) return
    const own = new AddressRange(place.range)
    const peers = [...others.list()]
      .filter(({ metadata }) => metadata.name !== nodeName)
      .flatMap((node) => peerOf(node) ?? [])
      .filter(({ range }) => !range.overlaps(own))
    await network.useRules('tunnel', rulesOf(place, peers))
    await network.useTunnel({ at, device, peers })
  }
  const updates = new Updates({ clock, delayMs: DELAY_MS, apply, onFailure })
  const request = (): void => updates.request()
  const others = startInformer<Node>({
    client,
    clock,
    resource: nodes,
    selection: { labelSelector: TUNNEL_SELECTOR },
    onError: (error) => warn(error, 'nodes of other machines could not be watched'),
    handlers: [
      {
        onAdd: request,
        onDelete: request,
        onUpdate(node, old) {
          if (JSON.stringify(peerOf(node)) !== JSON.stringify(peerOf(old))) request()
        },
      },
    ],
  })
  others.synced().then(request, () => {})
  network.onOpened(request)
  return {
    close() {
      network.onOpened(() => {})
      updates.close()
      void others.close()
    },
  }
}

const deviceOf = (address: string): string | undefined =>
  Object.entries(networkInterfaces()).find(([, all]) =>
    all?.some((one) => one.address === address && one.family === 'IPv4' && !one.internal),
  )?.[0]

/** Returns what a node says of itself; undefined for one that cannot be reached yet. */
export function peerOf({ spec, status }: Node): Peer | undefined {
  const [network = '', bits] = spec?.podCIDR?.split('/') ?? []
  const host = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? ''
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port
  if (!bits || !isIPv4(network) || !isIPv4(host) || !port) return undefined
  return { range: new AddressRange(`${network}/${bits}`), at: { host, port } }
}

/**
 * A client that sends datagrams to the port can send packets into the network: they reach pods of this node alone, and
 * may not come from an address of it.
 */
const rulesOf = ({ range, machine }: NodePlace, peers: readonly Peer[]): string => `add table ip kubestage-tunnel
delete table ip kubestage-tunnel
table ip kubestage-tunnel {
set peers { type ipv4_addr; flags interval; auto-merge; ${elements(peers)} }
chain arriving {
type filter hook prerouting priority raw
iifname != pod-tunnel return
ip saddr != @peers drop
ip daddr != ${range} drop
ip daddr ${machine} drop
}
}
`

const elements = (peers: readonly Peer[]): string =>
  peers.length > 0 ? `elements = { ${peers.map(({ range }) => range.cidr).join(', ')} };` : ''
