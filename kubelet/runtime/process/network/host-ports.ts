import type { Sandbox } from '../../container-runtime.ts'
import { serveMachinePort } from '../../network/machine-port.ts'
import type { NodeNetwork, Served } from '../../network/node-network.ts'
import { whyRefused } from './port-refused.ts'

/** Ports of the machine that lead to ports of pods: what comes there is passed on within the node's network. */
export class HostPorts {
  readonly #network: Pick<NodeNetwork, 'connect'>
  readonly #open = new Map<string, Served[]>()

  constructor(network: Pick<NodeNetwork, 'connect'>) {
    this.#network = network
  }

  /** Opens those of a pod. Rejects when one is taken; then none of them is open. */
  async open({ id, ip, hostPorts = [] }: Sandbox): Promise<void> {
    const served: Served[] = []
    this.#open.set(id, served)
    for (const { ip: host, port, containerPort } of hostPorts) {
      try {
        served.push(await serveMachinePort(this.#network, { host, port }, () => ({ host: ip, port: containerPort })))
      } catch (error) {
        this.close(id)
        throw new Error(whyRefused(port, error as NodeJS.ErrnoException))
      }
    }
    // The pod may have ended meanwhile.
    if (this.#open.get(id) !== served) for (const one of served) one.close()
  }

  /** Closes those of a pod. Connections go on until their ends close them. */
  close(sandboxId: string): void {
    for (const served of this.#open.get(sandboxId) ?? []) served.close()
    this.#open.delete(sandboxId)
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.close(id)
  }
}
