import { type MachinePort, type MachinePortOptions, serveMachinePort } from '../runtime/network/machine-port.ts'
import type { Served } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'

export interface NodePortsOptions extends MachinePortOptions {
  warn(error: unknown, what: string): void
}

/**
 * Serves node ports at all addresses of the machine. What comes there is passed on to the same port of the node,
 * where rules choose the endpoint.
 */
export class NodePorts {
  readonly #options: NodePortsOptions
  readonly #open = new Map<string, Served>()
  readonly #updates: Updates
  #wanted: ReadonlyMap<string, MachinePort> = new Map()

  constructor(options: NodePortsOptions) {
    const { clock, warn } = options
    this.#options = options
    this.#updates = new Updates({
      clock,
      apply: () => this.#apply(),
      onFailure: (error) => warn(error, 'a node port is not served at the addresses of this machine'),
    })
  }

  /** Opens these ports, and closes others. Connections go on until their ends close them. */
  serve(ports: readonly MachinePort[]): void {
    this.#wanted = new Map(ports.map((port) => [`${port.protocol} ${port.port}`, port]))
    this.#closeOthers()
    if (this.#wanted.keys().some((key) => !this.#open.has(key))) this.#updates.request()
  }

  close(): void {
    this.#updates.close()
    this.serve([])
  }

  #closeOthers(): void {
    for (const [key, served] of this.#open) {
      if (this.#wanted.has(key)) continue
      served.close()
      this.#open.delete(key)
    }
  }

  /** A port may be free again later: another node of this machine may have served it, and end. */
  async #apply(): Promise<void> {
    const { network } = this.#options
    const problems: unknown[] = []
    for (const [key, wanted] of this.#wanted) {
      if (this.#open.has(key)) continue
      const to = () => ({ host: network.place?.node ?? '', port: wanted.port })
      await serveMachinePort(this.#options, wanted, to).then(
        (served) => void this.#open.set(key, served),
        (error) => problems.push(error),
      )
    }
    this.#closeOthers()
    if (problems.length > 0) throw problems[0]
  }
}
