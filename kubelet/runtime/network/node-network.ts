import type { Socket as DatagramSocket } from 'node:dgram'
import type { Socket } from 'node:net'
import type { HostPort } from '../../../shared/api/pods/host-ports.ts'
import type { AddressRange } from '../../../shared/api/services/address-range.ts'

/**
 * The network of a node whose pods have a network of their own each. It is not the machine's: what the kubelet sends
 * there, and serves there, lies in it by these methods. What is served outlives the network: where that is lost with
 * the shim, it is served again in the next one.
 */
export interface NodeNetwork {
  /** Holds what the node has by way of addresses; undefined until it is known. */
  readonly place: NodePlace | undefined
  /** True for the addresses that are reached by {@link connect}: those of pods. */
  has(address: string): boolean
  /** Rejects with the error of a socket. With `podSandbox` the connection begins within this pod, as its localhost does. */
  connect(to: NetworkPlace & { timeoutMs: number; podSandbox?: string }): Promise<Socket>
  /** Serves TCP at an address of the node that pods reach; the address becomes the node's where it is not. */
  listen(at: NetworkPlace, onConnection: (socket: Socket) => void): Promise<Served>
  /**
   * Serves there also what rules lead there by tproxy, with the mark {@link TAKEN}: the local address of such a
   * connection is the one that the pod asked for.
   */
  take(at: NetworkPlace, onConnection: (socket: Socket) => void): Promise<Served>
  /** Takes datagrams in the same way. Calls back with each socket that is made for it. */
  bind(at: NetworkPlace, onSocket: (socket: DatagramSocket) => void): Promise<Served>
  /**
   * Leads what the machine sends to addresses of Services into the node's network. `cluster` names the cluster, of which
   * several nodes may do that. Resolves to the reason why it cannot be; undefined: it is.
   */
  routeServices(range: string, cluster: string): Promise<string | undefined>
  /**
   * Carries out commands of nft, all or none. They are carried out again in the next network, by themselves, in the
   * place of those of the same name.
   */
  useRules(name: string, commands: string): Promise<void>
  /**
   * Leads to nodes of other machines, in this network: what was there before goes. {@link onOpened} tells when there is
   * another network, which has no tunnel yet.
   */
  useTunnel(tunnel: Tunnel): Promise<void>
  /** Calls back after each opening of a network. */
  onOpened(act: () => void): void
  /** Makes the kernel forget exchanges of datagrams that go from these places to others than their ends. */
  forgetStale(flows: readonly Flow[]): Promise<void>
  /** Resolves to whether the kernel speaks SCTP. */
  hasSctp(): Promise<boolean>
  /** Resolves to all sets of these rules, as JSON of nft. */
  listSets(): Promise<string>
  /** Lists the host ports that this machine keeps for root. They are not opened, but still lead pods to their pod. */
  readonly refusedPorts: readonly RefusedPort[]
  /** Serves these ports by TCP, and no others, by a process in the node's network; also in the next network. */
  relay(ports: Relayed): Promise<void>
  /** Resolves to a line for each kind and address of what that process has lost: `refused 10.244.0.7 3`. */
  listLost(): Promise<string>
  /** Pods whose networks are here, by address. */
  readonly pods: ReadonlyMap<string, NetworkedPod>
  /** The containers of a pod start when this has resolved for it; its network is there. */
  beforeStart(prepare: (pod: NetworkedPod) => Promise<void>): void
}

/** Marks packets that end in the node's network, wherever they go. */
export const TAKEN = 0x8000

export interface NetworkedPod {
  namespace: string
  name: string
  podUid: string
  ip: string
}

/** Names a host port of a pod that this machine does not open, and says why. */
export interface RefusedPort extends HostPort {
  podUid: string
  podIP: string
  why: string
}

/** Names the ends of the link between node and machine, and the range of pods' addresses, which has both. */
export interface NodePlace {
  node: string
  machine: string
  range: string
}

/** Names a place of this machine that takes the datagrams of a tunnel, its device, and the nodes at the other ends. */
export interface Tunnel {
  at: NetworkPlace
  device: string
  peers: readonly { range: AddressRange; at: NetworkPlace }[]
}

/** Names a place to which datagrams are sent, and the ends to which rules lead them. */
export interface Flow {
  at: NetworkPlace
  ends: readonly NetworkPlace[]
}

/** Names ports, and the ends to which connections go by chance. */
export interface Relayed {
  ports: {
    at: NetworkPlace
    ends: readonly NetworkPlace[]
    /** A client comes back to the same end within these seconds. */
    affinitySeconds?: number
  }[]
  /** Holds addresses of pods that have ended: connections to them are reset. */
  gone: readonly string[]
}

/** Names an IP address and a port. */
export interface NetworkPlace {
  host: string
  port: number
}

export interface Served {
  close(): void
}
