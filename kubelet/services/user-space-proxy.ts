import type { Clock } from '../../shared/clock/clock.ts'
import { type DatagramRelay, relayDatagrams } from '../runtime/network/datagram-relay.ts'
import type { NetworkPlace, NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { EndpointChoice } from './endpoint-choice.ts'
import type { ServicePort, Target } from './service-ports.ts'

export interface UserSpaceProxyOptions {
  network: Pick<NodeNetwork, 'bind' | 'place' | 'relay'>
  clock: Clock
}

interface Open {
  choice: EndpointChoice
  /** Serves the port; absent without endpoints, so that the kernel refuses. */
  served?: Served
  relay?: DatagramRelay
}

/**
 * Leads traffic for Services to their endpoints by listeners in the node's network, where the kernel has no rules for
 * it: TCP by the relay of the network, datagrams by the kubelet. The pod behind a Service sees the node's address.
 */
export class UserSpaceProxy {
  readonly #options: UserSpaceProxyOptions
  readonly #open = new Map<string, Open>()
  #relays = false

  constructor(options: UserSpaceProxyOptions) {
    this.#options = options
  }

  /**
   * Serves these ports, and no others; connections to pods that are `gone` are reset. Rejects with the first that
   * cannot be served; the others are.
   */
  async serve(ports: readonly ServicePort[], gone: readonly string[]): Promise<void> {
    const wanted = new Map(ports.filter(({ protocol }) => protocol === 'udp').map((port) => [keyOf(port), port]))
    for (const [key, open] of this.#open) {
      if (wanted.has(key)) continue
      close(open)
      this.#open.delete(key)
    }
    const problems: unknown[] = []
    await this.#relay(ports, gone).catch((error) => problems.push(error))
    for (const [key, port] of wanted) {
      await this.#serveOne(key, port).catch((error) => problems.push(error))
    }
    if (problems.length > 0) throw problems[0]
  }

  close(): void {
    for (const open of this.#open.values()) close(open)
    this.#open.clear()
    if (this.#relays) void this.#relay([], []).catch(() => {})
  }

  /** A port without an endpoint has none to listen either, so the kernel refuses. */
  async #relay(ports: readonly ServicePort[], gone: readonly string[]): Promise<void> {
    const served = ports.filter(({ protocol }) => protocol === 'tcp')
    this.#relays = served.length > 0
    await this.#options.network.relay({
      ports: served.map(({ endpoints, affinitySeconds, ...at }) => ({
        at: this.#placeOf(at),
        ends: endpoints.map(placeOf),
        affinitySeconds,
      })),
      gone,
    })
  }

  async #serveOne(key: string, port: ServicePort): Promise<void> {
    const { clock } = this.#options
    const open = this.#open.get(key) ?? { choice: new EndpointChoice(clock) }
    open.choice.use(port)
    open.relay?.keepOnly(port.endpoints.map(placeOf))
    const isWanted = port.endpoints.length > 0
    if (open.served && !isWanted) {
      close(open)
      open.served = undefined
    }
    // The address becomes the node's, so that what is sent there is refused.
    if (!open.served && !isWanted && !this.#open.has(key)) (await this.#bind(open, port)).close()
    if (!open.served && isWanted) open.served = await this.#bind(open, port)
    this.#open.set(key, open)
  }

  #bind(open: Open, port: ServicePort): Promise<Served> {
    return this.#options.network.bind(this.#placeOf(port), (socket) => {
      open.relay?.close()
      open.relay = relayDatagrams(this.#options, socket, (client) => open.choice.next(client))
    })
  }

  #placeOf({ ip, port }: Pick<ServicePort, 'ip' | 'port'>): NetworkPlace {
    return { host: ip ?? this.#options.network.place?.node ?? '', port }
  }
}

const placeOf = ({ ip: host, port }: Target): NetworkPlace => ({ host, port })

function close({ served, relay }: Open): void {
  served?.close()
  relay?.close()
}

const keyOf = ({ ip = '', port }: ServicePort): string => `${ip} ${port}`
