/**
 * Hands out cluster IPs and node ports: what is taken is what the stored services say, and what was given in the last
 * moments.
 */
import { numberOf, textOf } from '../../../../shared/api/services/address-range.ts'
import type { Service } from '../../../../shared/api/types.ts'
import type { ServiceAddresses, SharedServiceAddresses } from '../../../kind/resource-definition.ts'

export interface AddressOptions {
  /** Holds the IPv4 range, such as 10.96.0.0/16. */
  cidr: string
  /** The services as they are stored now. */
  services(): Iterable<Service>
  nowMs(): number
  random?: () => number
  /** Takes addresses if several servers share the ranges. */
  shared?: SharedServiceAddresses
}

const FIRST_PORT = 30_000
const LAST_PORT = 32_767
/** An address that no service has yet counts as taken for this long, since a write may be under way. */
const RESERVED_MS = 10_000
const TAKEN = 'provided IP is already allocated'

type Used = Pick<ReadonlySet<number>, 'has'>

interface PoolOptions {
  first: number
  last: number
  start: number
  nowMs(): number
  /** From 0 up to 1: each search begins anywhere behind `start`, so that two servers seldom find the same. */
  random?(): number
}

/** Numbers from a range, the next free one each time. */
class Pool {
  readonly #options: PoolOptions
  readonly #reserved = new Map<number, number>()
  #cursor: number
  constructor(options: PoolOptions) {
    this.#options = options
    this.#cursor = options.start
  }
  contains(number: number): boolean {
    const { first, last } = this.#options
    return number >= first && number <= last
  }
  isFree(number: number, used: Used): boolean {
    return !used.has(number) && (this.#reserved.get(number) ?? -1) < this.#options.nowMs()
  }
  reserve(number: number): void {
    const now = this.#options.nowMs()
    for (const [other, until] of this.#reserved) if (until < now) this.#reserved.delete(other)
    this.#reserved.set(number, now + RESERVED_MS)
  }
  release(number: number): void {
    this.#reserved.delete(number)
  }
  next(used: Used): number {
    const { first, last, start, random } = this.#options
    if (random) this.#cursor = start + Math.floor(random() * (last - start + 1))
    for (let tries = last - first; tries >= 0; tries--) {
      const candidate = this.#cursor
      this.#cursor = candidate === last ? first : candidate + 1
      if (!this.isFree(candidate, used)) continue
      this.reserve(candidate)
      return candidate
    }
    throw new Error('range is full')
  }
}

export function createServiceAddresses({ cidr, services, nowMs, shared, random }: AddressOptions): ServiceAddresses {
  const [base = '', length = '32'] = cidr.split('/')
  const size = 2 ** (32 - Number(length))
  const network = Math.floor(numberOf(base) / size) * size
  // The first addresses are left for Services that ask for a fixed one.
  const band = Math.min(Math.max(16, Math.floor(size / 16)), 256)
  const ips = new Pool({
    first: network + 1,
    last: network + size - 2,
    start: network + 1 + Math.min(band, size - 3),
    nowMs,
    random: shared && random,
  })
  const ports = new Pool({
    first: FIRST_PORT,
    last: LAST_PORT,
    start: FIRST_PORT + 86,
    nowMs,
    random: shared && random,
  })

  const usedIps = (): Used => {
    if (shared) return { has: (number) => shared.hasIp(textOf(number)) }
    const used = new Set<number>()
    for (const { spec } of services()) {
      for (const ip of spec?.clusterIPs ?? []) if (ip !== 'None') used.add(numberOf(ip))
    }
    return used
  }
  const usedPorts = (): Used => {
    if (shared) return { has: (port) => shared.hasPort(port) }
    const used = new Set<number>()
    for (const { spec } of services()) {
      for (const { nodePort } of spec?.ports ?? []) if (nodePort) used.add(nodePort)
      if (spec?.healthCheckNodePort) used.add(spec.healthCheckNodePort)
    }
    return used
  }
  return {
    takeIp(ip) {
      const number = numberOf(ip)
      if (ip.includes(':') || !ips.contains(number)) {
        return `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${cidr}`
      }
      if (!ips.isFree(number, usedIps())) return TAKEN
      ips.reserve(number)
      return undefined
    },
    nextIp: () => textOf(ips.next(usedIps())),
    takePort(port, anyRange = false) {
      if (!anyRange && !ports.contains(port)) {
        return `provided port is not in the valid range. The range of valid ports is ${FIRST_PORT}-${LAST_PORT}`
      }
      if (!ports.isFree(port, usedPorts())) return 'provided port is already allocated'
      ports.reserve(port)
      return undefined
    },
    nextPort: () => ports.next(usedPorts()),
    release(holding) {
      for (const ip of holding.ips) ips.release(numberOf(ip))
      for (const port of holding.ports) ports.release(port)
    },
    shared,
  }
}
