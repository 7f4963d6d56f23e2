import type { Sandbox } from '../../container-runtime.ts'
import { type MachinePortOptions, serveMachinePort } from '../../network/machine-port.ts'
import type { Served } from '../../network/node-network.ts'
import { whyRefused } from './port-refused.ts'

/** Ports of the machine that lead to ports of pods: what comes there is passed on within the node's network. */
export class HostPorts {
  readonly #options: MachinePortOptions
  readonly #open = new Map<string, Served[]>()

  constructor(options: MachinePortOptions) {
    this.#options = options
  }

  /** Opens those of a pod. Rejects when one is taken; then none of them is open. */
  async open({ id, ip, hostPorts = [] }: Sandbox): Promise<void> {
    const served: Served[] = []
    this.#open.set(id, served)
    for (const { ip: host, protocol, port, containerPort } of hostPorts) {
      const at = { host, port, protocol: protocol === 'UDP' ? ('udp' as const) : ('tcp' as const) }
      try {
        served.push(await serveMachinePort(this.#options, at, () => ({ host: ip, port: containerPort })))
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
