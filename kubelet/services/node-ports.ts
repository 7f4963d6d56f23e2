import type { Clock } from '../../shared/clock/clock.ts'
import { serveMachinePort } from '../runtime/network/machine-port.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'

export interface NodePortsOptions {
  network: Pick<NodeNetwork, 'connect' | 'place'>
  clock: Clock
  warn(error: unknown, what: string): void
}

/**
 * Serves TCP node ports at all addresses of the machine. What comes there is passed on to the same port of the node,
 * where rules choose the endpoint.
 */
export class NodePorts {
  readonly #options: NodePortsOptions
  readonly #open = new Map<number, Served>()
  readonly #updates: Updates
  #wanted: ReadonlySet<number> = new Set()

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
  serve(ports: readonly number[]): void {
    this.#wanted = new Set(ports)
    this.#closeOthers()
    if (!this.#wanted.isSubsetOf(this.#open)) this.#updates.request()
  }

  close(): void {
    this.#updates.close()
    this.serve([])
  }

  #closeOthers(): void {
    for (const [port, served] of this.#open) {
      if (this.#wanted.has(port)) continue
      served.close()
      this.#open.delete(port)
    }
  }

  /** A port may be free again later: another node of this machine may have served it, and end. */
  async #apply(): Promise<void> {
    const { network } = this.#options
    const problems: unknown[] = []
    for (const port of this.#wanted) {
      if (this.#open.has(port)) continue
      const to = () => ({ host: network.place?.node ?? '', port })
      await serveMachinePort(network, { port }, to).then(
        (served) => void this.#open.set(port, served),
        (error) => problems.push(error),
      )
    }
    this.#closeOthers()
    if (problems.length > 0) throw problems[0]
  }
}
