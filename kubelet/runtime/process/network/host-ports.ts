import type { Sandbox } from '../../container-runtime.ts'
import { type MachinePortOptions, serveMachinePort } from '../../network/machine-port.ts'
import type { RefusedPort, Served } from '../../network/node-network.ts'
import { firstFreePort, whyKept, whyRefused } from './port-refused.ts'

/** Ports of the machine that lead to ports of pods: what comes there is passed on within the node's network. */
export class HostPorts {
  readonly #options: MachinePortOptions
  readonly #open = new Map<string, Served[]>()
  #refused: readonly RefusedPort[] = []

  constructor(options: MachinePortOptions) {
    this.#options = options
  }

  /** Lists those that the machine keeps for root. */
  get refused(): readonly RefusedPort[] {
    return this.#refused
  }

  /**
   * Opens those of a pod, but for what the machine keeps for root. Rejects when one is taken; then none of them is
   * open.
   */
  async open({ id, ip, podUid, hostPorts = [] }: Sandbox): Promise<void> {
    const served: Served[] = []
    this.#open.set(id, served)
    for (const wanted of hostPorts) {
      const { ip: host, protocol, port, containerPort } = wanted
      const at = { host, port, protocol: protocol === 'UDP' ? ('udp' as const) : ('tcp' as const) }
      try {
        served.push(await serveMachinePort(this.#options, at, () => ({ host: ip, port: containerPort })))
      } catch (error) {
        const first = firstFreePort()
        if ((error as NodeJS.ErrnoException).code === 'EACCES' && port < first) {
          const refused = { ...wanted, podUid, podIP: ip, why: whyKept(wanted, first) }
          this.#refused = [...this.#refused, refused]
          served.push({ close: () => (this.#refused = this.#refused.filter((one) => one !== refused)) })
          continue
        }
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
