import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { machineAddresses } from '../runtime/network/machine-addresses.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import type { ClusterServices } from './cluster-services.ts'
import { NodePorts } from './node-ports.ts'
import { type RuleNames, rulesOf } from './rules.ts'
import { type ServicePort, servicePorts } from './service-ports.ts'

export interface ServiceProxyOptions {
  network: Pick<NodeNetwork, 'connect' | 'place' | 'useRules'>
  clock: Clock
  nodeName: string
  services: ClusterServices
  /** Holds the range of cluster IPs, where it is known. */
  range?: string
  /** Tells that cluster IPs are served now; it is called once. */
  onServed?(): void
  warn(error: unknown, what: string): void
}

/** Changes in quick succession become one. */
const DELAY_MS = 10
const RETRY_MS = 5_000

/** Keeps the rules of the node's network as the Services and their endpoints are. */
export class ServiceProxy implements Served {
  readonly #options: ServiceProxyOptions
  readonly #nodePorts: NodePorts
  #timer: Timer | undefined
  #before: RuleNames | undefined
  #last = ''
  #isBusy = false
  #isDirty = false
  #isClosed = false
  #told = ''

  constructor(options: ServiceProxyOptions) {
    this.#options = options
    this.#nodePorts = new NodePorts(options)
    const { services } = options
    services.synced().then(
      () => services.onChange(() => this.#schedule(DELAY_MS)),
      () => {},
    )
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#nodePorts.close()
  }

  #schedule(delayMs: number): void {
    this.#isDirty = true
    if (this.#timer || this.#isBusy || this.#isClosed) return
    this.#timer = this.#options.clock.machine.setTimer(delayMs, () => void this.#apply(), { background: true })
  }

  async #apply(): Promise<void> {
    const { warn } = this.#options
    this.#timer = undefined
    this.#isBusy = true
    this.#isDirty = false
    let failed = false
    try {
      await this.#rule()
      this.#told = ''
    } catch (error) {
      failed = true
      this.#before = undefined
      const { message } = error as Error
      if (message !== this.#told)
        warn(error, 'cluster IPs of Services are not served: that needs nft of the package nftables')
      this.#told = message
    }
    this.#isBusy = false
    if (failed) this.#schedule(RETRY_MS)
    else if (this.#isDirty) this.#schedule(DELAY_MS)
  }

  async #rule(): Promise<void> {
    const { services, network, nodeName, range, onServed } = this.#options
    const { place } = network
    if (!place) return
    const ports = servicePorts(services, { name: nodeName, machine: place.machine })
    const input = { ports, place, machine: machineAddresses(), range }
    const described = JSON.stringify(input)
    if (described === this.#last) return
    const rules = rulesOf(input, this.#before)
    await network.useRules('services', rules.text)
    if (this.#last === '') onServed?.()
    this.#before = rules
    this.#last = described
    const isServed = ({ ip, protocol, endpoints }: ServicePort): boolean =>
      ip === undefined && protocol === 'tcp' && endpoints.length > 0
    this.#nodePorts.serve(ports.filter(isServed).map(({ port }) => port))
  }
}
