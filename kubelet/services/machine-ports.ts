import type { Clock } from '../../shared/clock/clock.ts'
import type { Served } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'

export interface MachinePortsOptions<Port> {
  clock: Clock
  /** Opens a port at all addresses of the machine. Rejects when it is taken. */
  open(port: Port): Promise<Served>
  onFailure(error: unknown): void
}

/** Keeps ports of the machine open, as they are wanted. */
export class MachinePorts<Port extends { port: number; protocol?: string }> {
  readonly #options: MachinePortsOptions<Port>
  readonly #open = new Map<string, Served>()
  readonly #updates: Updates
  #wanted: ReadonlyMap<string, Port> = new Map()

  constructor(options: MachinePortsOptions<Port>) {
    const { clock, onFailure } = options
    this.#options = options
    this.#updates = new Updates({
      clock,
      apply: () => this.#apply(),
      onFailure,
    })
  }

  /** Opens these ports, and closes others. Connections go on until their ends close them. */
  serve(ports: readonly Port[]): void {
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
    const problems: unknown[] = []
    for (const [key, wanted] of this.#wanted) {
      if (this.#open.has(key)) continue
      await this.#options.open(wanted).then(
        (served) => void this.#open.set(key, served),
        (error) => problems.push(error),
      )
    }
    this.#closeOthers()
    if (problems.length > 0) throw problems[0]
  }
}
