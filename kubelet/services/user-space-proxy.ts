import type { Clock } from '../../shared/clock/clock.ts'
import { type DatagramRelay, relayDatagrams } from '../runtime/network/datagram-relay.ts'
import type { NetworkPlace, NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { passOn } from '../runtime/network/pass-on.ts'
import { EndpointChoice } from './endpoint-choice.ts'
import type { ServicePort } from './service-ports.ts'

export interface UserSpaceProxyOptions {
  network: Pick<NodeNetwork, 'bind' | 'connect' | 'keepSpare' | 'listen' | 'place'>
  clock: Clock
}

/** A pod that does not answer by then is taken for one that refuses. */
const CONNECT_MS = 10_000
/** So many connections may begin at once without a wait for a socket. */
const SPARE_SOCKETS = 16

interface Open {
  choice: EndpointChoice
  /** Absent where no endpoint is there: then the kernel refuses. */
  served?: Served
  relay?: DatagramRelay
}

/**
 * Leads traffic for Services to their endpoints by listeners in the node's network, where the kernel has no rules for
 * it. The pod behind a Service sees the node's address.
 */
export class UserSpaceProxy {
  readonly #options: UserSpaceProxyOptions
  readonly #open = new Map<string, Open>()

  constructor(options: UserSpaceProxyOptions) {
    this.#options = options
  }

  /** Serves these ports, and no others. Rejects with the first that cannot be served; the others are. */
  async serve(ports: readonly ServicePort[]): Promise<void> {
    const { network } = this.#options
    const wanted = new Map(ports.map((port) => [keyOf(port), port]))
    for (const [key, open] of this.#open) {
      if (wanted.has(key)) continue
      close(open)
      this.#open.delete(key)
    }
    if (ports.length > 0) network.keepSpare(SPARE_SOCKETS)
    const problems: unknown[] = []
    for (const [key, port] of wanted) {
      await this.#serveOne(key, port).catch((error) => problems.push(error))
    }
    if (problems.length > 0) throw problems[0]
  }

  close(): void {
    for (const open of this.#open.values()) close(open)
    this.#open.clear()
    this.#options.network.keepSpare(0)
  }

  async #serveOne(key: string, port: ServicePort): Promise<void> {
    const { clock, network } = this.#options
    const at = { host: port.ip ?? network.place?.node ?? '', port: port.port }
    const open = this.#open.get(key) ?? { choice: new EndpointChoice(clock) }
    open.choice.use(port)
    open.relay?.keepOnly(port.endpoints.map(({ ip: host, port }) => ({ host, port })))
    const isWanted = port.endpoints.length > 0
    if (open.served && !isWanted) {
      close(open)
      open.served = undefined
    }
    // The address becomes the node's, so that what is sent there is refused.
    if (!open.served && !isWanted && !this.#open.has(key)) (await this.#listen(at, open, port)).close()
    if (!open.served && isWanted) open.served = await this.#listen(at, open, port)
    this.#open.set(key, open)
  }

  #listen(at: NetworkPlace, open: Open, { protocol }: ServicePort): Promise<Served> {
    const { network } = this.#options
    if (protocol === 'tcp') {
      return network.listen(at, (socket) => {
        const to = open.choice.next(socket.remoteAddress ?? '')
        if (to) void passOn(socket, network.connect({ ...to, timeoutMs: CONNECT_MS }))
        else socket.resetAndDestroy()
      })
    }
    return network.bind(at, (socket) => {
      open.relay?.close()
      open.relay = relayDatagrams(this.#options, socket, (client) => open.choice.next(client))
    })
  }
}

function close({ served, relay }: Open): void {
  served?.close()
  relay?.close()
}

const keyOf = ({ ip = '', protocol, port }: ServicePort): string => `${ip} ${protocol} ${port}`
