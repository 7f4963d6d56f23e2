import type { Socket as DatagramSocket } from 'node:dgram'
import type { Socket } from 'node:net'

/**
 * The network of a node whose pods have a network of their own each. It is not the machine's: what the kubelet sends
 * there, and serves there, lies in it by these methods. What is served outlives the network: where that is lost with
 * the shim, it is served again in the next one.
 */
export interface NodeNetwork {
  /** True for the addresses that are reached by {@link connect}: those of pods. */
  has(address: string): boolean
  /** Rejects with the error of a socket. With `podSandbox` the connection begins within this pod, as its localhost does. */
  connect(to: NetworkPlace & { timeoutMs: number; podSandbox?: string }): Promise<Socket>
  /** Serves TCP at an address of the node that pods reach; the address becomes the node's where it is not. */
  listen(at: NetworkPlace, onConnection: (socket: Socket) => void): Promise<Served>
  /** Takes datagrams in the same way. Calls back with each socket that is made for it. */
  bind(at: NetworkPlace, onSocket: (socket: DatagramSocket) => void): Promise<Served>
  /** Carries out commands of nft, all or none. They are carried out again in the next network, by themselves. */
  useRules(commands: string): Promise<void>
}

/** Names an IP address and a port. */
export interface NetworkPlace {
  host: string
  port: number
}

export interface Served {
  close(): void
}
