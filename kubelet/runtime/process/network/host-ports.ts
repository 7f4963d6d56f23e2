import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Sandbox } from '../../container-runtime.ts'
import type { NodeNetwork } from '../../network/node-network.ts'
import { passOn } from '../../network/pass-on.ts'

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
      const to = { host: ip, port: containerPort }
      const server = createServer({ allowHalfOpen: true }, (socket) => passOn(this.#network, socket, to))
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
}
