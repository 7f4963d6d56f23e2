import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import type { ClusterServices } from './cluster-services.ts'
import { type RuleNames, rulesOf } from './rules.ts'
import { servicePorts } from './service-ports.ts'

export interface ServiceProxyOptions {
  network: Pick<NodeNetwork, 'useRules'>
  clock: Clock
  nodeName: string
  services: ClusterServices
  warn(error: unknown, what: string): void
}

/** Changes in quick succession become one. */
const DELAY_MS = 10
const RETRY_MS = 5_000

/** Keeps the rules of the node's network as the Services and their endpoints are. */
export class ServiceProxy implements Served {
  readonly #options: ServiceProxyOptions
  #timer: Timer | undefined
  #before: RuleNames | undefined
  #last = ''
  #isBusy = false
  #isDirty = false
  #isClosed = false
  #told = ''

  constructor(options: ServiceProxyOptions) {
    this.#options = options
    const { services } = options
    services.synced().then(
      () => services.onChange(() => this.#schedule(DELAY_MS)),
      () => {},
    )
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #schedule(delayMs: number): void {
    this.#isDirty = true
    if (this.#timer || this.#isBusy || this.#isClosed) return
    this.#timer = this.#options.clock.machine.setTimer(delayMs, () => void this.#apply(), { background: true })
  }

  async #apply(): Promise<void> {
    const { services, network, nodeName, warn } = this.#options
    this.#timer = undefined
    this.#isBusy = true
    this.#isDirty = false
    const ports = servicePorts(services, nodeName)
    const described = JSON.stringify(ports)
    let failed = false
    try {
      if (described !== this.#last) {
        const rules = rulesOf(ports, this.#before)
        await network.useRules('services', rules.text)
        this.#before = rules
        this.#last = described
      }
      this.#told = ''
    } catch (error) {
      failed = true
      this.#before = undefined
      const { message } = error as Error
      if (message !== this.#told)
        warn(error, 'cluster IPs of Services are not served: that needs root, and nft of the package nftables')
      this.#told = message
    }
    this.#isBusy = false
    if (failed) this.#schedule(RETRY_MS)
    else if (this.#isDirty) this.#schedule(DELAY_MS)
  }
}
