import type { ServiceHolding } from '../../../shared/api/services/service-holding.ts'
import { holdingOf } from '../../../shared/api/services/service-holding.ts'
import type { KubeObject, Service } from '../../../shared/api/types.ts'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { SharedServiceAddresses } from '../../kind/index.ts'
import type { ObjectCaches } from '../../registry/index.ts'
import { keyPrefix } from '../../registry/index.ts'
import type { Entry } from '../../storage/engine.ts'
import { IpClaims } from './ip-claims.ts'
import { PortClaims } from './port-claims.ts'
import { decideRepair, type Repair } from './repair.ts'

const prefixes = [
  keyPrefix({ group: '', plural: 'ranges' }),
  keyPrefix({ group: 'networking.k8s.io', plural: 'ipaddresses' }),
]
const servicePrefix = keyPrefix({ group: '', plural: 'services' })
/** Upstream's interval. */
const repairIntervalMs = 3 * 60_000

interface ServiceClaimsOptions {
  objects: ObjectCaches
  clock: Clock
  log: Logger
}

/**
 * Claims cluster IPs and node ports if several servers allocate from the same ranges: each claim is a write that only
 * one server can make, before the Service is stored. If a server ends between the two writes, repairs release the
 * claim.
 */
export class ServiceClaims implements SharedServiceAddresses {
  readonly #objects: ObjectCaches
  readonly #clock: Clock
  readonly #log: Logger
  readonly #ips: IpClaims
  readonly #ports: PortClaims
  #timer: Timer

  constructor({ objects, clock, log }: ServiceClaimsOptions) {
    this.#objects = objects
    this.#clock = clock
    this.#log = log
    this.#ips = new IpClaims(objects, () => clock.now())
    this.#ports = new PortClaims(objects.storage, () => clock.machine.monotonic())
    this.#timer = this.#nextRepair()
  }

  /** Loads the claims, and takes what stored Services have and no server has taken for them. */
  async load(): Promise<void> {
    await this.#ports.load()
    await this.repair()
  }

  /** Returns whether servers write the key for their claims. */
  owns(key: string): boolean {
    return prefixes.some((prefix) => key.startsWith(prefix))
  }

  hasIp(ip: string): boolean {
    return this.#ips.has(ip)
  }

  hasPort(port: number): boolean {
    return this.#ports.taken().has(port)
  }

  async take(service: KubeObject, { ips, ports }: ServiceHolding): Promise<boolean> {
    const taken: string[] = []
    for (const ip of ips) {
      if (await this.#ips.take(ip, service)) taken.push(ip)
      else break
    }
    if (taken.length === ips.length && (await this.#ports.take(ports))) return true
    await this.give(service, { ips: taken, ports: [] })
    return false
  }

  async give(service: KubeObject, { ips, ports }: ServiceHolding): Promise<void> {
    const given = await Promise.allSettled([...ips.map((ip) => this.#ips.give(ip, service)), this.#ports.give(ports)])
    for (const result of given) {
      if (result.status === 'rejected')
        this.#log.warn({ err: result.reason }, 'an address of a Service is given back later')
    }
  }

  /** Gives back what Services had that were replaced behind the back of the registry, and takes what they have now. */
  async settle(before: readonly Entry[]): Promise<void> {
    const services = before.filter(({ key }) => key.startsWith(servicePrefix))
    const held = [...this.#services()].map(holdingOf)
    const ips = new Set(held.flatMap((holding) => holding.ips))
    const ports = new Set(held.flatMap((holding) => holding.ports))
    for (const { value } of services) {
      const service = JSON.parse(value) as Service
      const had = holdingOf(service)
      await this.give(service as unknown as KubeObject, {
        ips: had.ips.filter((ip) => !ips.has(ip)),
        ports: had.ports.filter((port) => !ports.has(port)),
      })
    }
    await this.repair()
  }

  /** Makes what is taken agree with the stored Services. */
  async repair(): Promise<void> {
    await this.#carryOut(decideRepair(this.#services(), { ips: this.#ips, ports: this.#ports }))
  }

  close(): void {
    this.#timer.cancel()
    this.#ports.close()
  }

  #services(): Iterable<Service> {
    return this.#objects.lookupAll({ group: '', plural: 'services' }) as unknown as Iterable<Service>
  }

  async #carryOut({ missingIps, missingPorts, leakedIps, leakedPorts }: Repair): Promise<void> {
    for (const { ip, service } of missingIps) await this.#ips.take(ip, service)
    for (const port of missingPorts) await this.#ports.take([port])
    for (const address of leakedIps) await this.#ips.remove(address)
    await this.#ports.give(leakedPorts)
    const [ips, ports] = [leakedIps.map(({ metadata }) => metadata.name), leakedPorts]
    if (ips.length + ports.length > 0) this.#log.warn({ ips, ports }, 'addresses without a Service were given back')
  }

  #nextRepair(): Timer {
    const again = (): void => {
      this.repair()
        .catch((error: unknown) => this.#log.warn({ err: error }, 'addresses of Services were not checked'))
        .finally(() => {
          this.#timer = this.#nextRepair()
        })
    }
    return this.#clock.machine.setTimer(repairIntervalMs, again, { background: true })
  }
}
