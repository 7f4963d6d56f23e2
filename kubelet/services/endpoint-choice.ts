import type { Clock } from '../../shared/clock/clock.ts'
import type { NetworkPlace } from '../runtime/network/node-network.ts'
import type { ServicePort, Target } from './service-ports.ts'

/** Limits the clients that are remembered; the first ones are forgotten. */
const MAX_CLIENTS = 10_000

interface Remembered {
  end: string
  untilMs: number
}

/** Chooses endpoints of a port of a Service by chance, and where it has affinity, the same one for a client again. */
export class EndpointChoice {
  readonly #clock: Clock
  readonly #clients = new Map<string, Remembered>()
  #endpoints: readonly Target[] = []
  #affinityMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  use({ endpoints, affinitySeconds }: Pick<ServicePort, 'endpoints' | 'affinitySeconds'>): void {
    this.#endpoints = endpoints
    this.#affinityMs = affinitySeconds === undefined ? undefined : affinitySeconds * 1_000
    if (this.#affinityMs === undefined) this.#clients.clear()
  }

  /** Returns the endpoint for a client, which is an address; undefined if there is none. */
  next(client: string): NetworkPlace | undefined {
    const now = this.#clock.machine.monotonic()
    const known = this.#clients.get(client)
    const again = known && known.untilMs > now && this.#endpoints.find((end) => nameOf(end) === known.end)
    const chosen = again || this.#endpoints[Math.floor(Math.random() * this.#endpoints.length)]
    if (!chosen) return undefined
    if (this.#affinityMs !== undefined) this.#remember(client, { end: nameOf(chosen), untilMs: now + this.#affinityMs })
    return { host: chosen.ip, port: chosen.port }
  }

  #remember(client: string, remembered: Remembered): void {
    this.#clients.delete(client)
    this.#clients.set(client, remembered)
    if (this.#clients.size <= MAX_CLIENTS) return
    const [oldest] = this.#clients.keys()
    if (oldest !== undefined) this.#clients.delete(oldest)
  }
}

const nameOf = ({ ip, port }: Target): string => `${ip}:${port}`
