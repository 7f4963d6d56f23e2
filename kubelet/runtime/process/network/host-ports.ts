import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Sandbox } from '../../container-runtime.ts'
import type { NodeNetwork } from '../../network/node-network.ts'

/** A pod that does not answer by then is taken for one that refuses. */
const CONNECT_MS = 10_000

/** Ports of the machine that lead to ports of pods: what comes there is passed on within the node's network. */
export class HostPorts {
  readonly #network: Pick<NodeNetwork, 'connect'>
  readonly #servers = new Map<string, Server[]>()

  constructor(network: Pick<NodeNetwork, 'connect'>) {
    this.#network = network
  }

  /** Opens those of a pod. Rejects when one is taken; then none of them is open. */
  async open({ id, ip, hostPorts = [] }: Sandbox): Promise<void> {
    for (const { ip: hostIP, port, containerPort } of hostPorts) {
      const to = { host: ip, port: containerPort, timeoutMs: CONNECT_MS }
      const server = createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket, to))
      this.#servers.set(id, [...(this.#servers.get(id) ?? []), server])
      try {
        await once(server.listen(port, hostIP), 'listening')
      } catch (error) {
        this.close(id)
        throw error
      }
    }
  }

  /** Closes those of a pod. Connections go on until their ends close them. */
  close(sandboxId: string): void {
    for (const server of this.#servers.get(sandboxId) ?? []) server.close()
    this.#servers.delete(sandboxId)
  }

  closeAll(): void {
    for (const id of this.#servers.keys()) this.close(id)
  }

  #pass(socket: Socket, to: Parameters<NodeNetwork['connect']>[0]): void {
    socket.on('error', () => {})
    this.#network.connect(to).then(
      (inner) => {
        inner.allowHalfOpen = true
        pipeline(socket, inner, socket, () => {})
      },
      () => socket.resetAndDestroy(),
    )
  }
}
