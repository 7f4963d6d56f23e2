import { createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { NodeNetwork } from '../runtime/network/node-network.ts'
import { passOn } from '../runtime/network/pass-on.ts'

export interface NodePortsOptions {
  network: Pick<NodeNetwork, 'connect' | 'place'>
  clock: Clock
  warn(error: unknown, what: string): void
}

const RETRY_MS = 5_000

/**
 * Serves TCP node ports at all addresses of the machine. What comes there is passed on to the same port of the node,
 * where rules choose the endpoint.
 */
export class NodePorts {
  readonly #options: NodePortsOptions
  readonly #servers = new Map<number, Server>()
  readonly #told = new Set<number>()
  #wanted = new Set<number>()
  #retry: Timer | undefined

  constructor(options: NodePortsOptions) {
    this.#options = options
  }

  /** Opens these ports, and closes others. Connections go on until their ends close them. */
  serve(ports: readonly number[]): void {
    this.#wanted = new Set(ports)
    for (const [port, server] of this.#servers) {
      if (this.#wanted.has(port)) continue
      server.close()
      this.#servers.delete(port)
    }
    for (const port of this.#wanted) if (!this.#servers.has(port)) this.#open(port)
  }

  close(): void {
    this.serve([])
    this.#retry?.cancel()
  }

  #open(port: number): void {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket, port))
    this.#servers.set(port, server)
    server.on('error', (error) => this.#failed(port, server, error)).listen(port)
    server.unref()
  }

  /** A port may be free again later: another node of this machine may have served it, and end. */
  #failed(port: number, server: Server, error: Error): void {
    const { clock, warn } = this.#options
    if (this.#servers.get(port) !== server) return
    this.#servers.delete(port)
    if (!this.#told.has(port)) warn(error, `node port ${port} is not served at the addresses of this machine`)
    this.#told.add(port)
    this.#retry ??= clock.machine.setTimer(
      RETRY_MS,
      () => {
        this.#retry = undefined
        this.serve([...this.#wanted])
      },
      { background: true },
    )
  }

  #pass(socket: Socket, port: number): void {
    const { network } = this.#options
    passOn(network, socket, { host: network.place?.node ?? '', port })
  }
}
