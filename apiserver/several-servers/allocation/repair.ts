import { holdingOf } from '../../../shared/api/services/service-holding.ts'
import type { KubeObject, Service } from '../../../shared/api/types.ts'
import { type IpAddress, type IpClaims, isManaged } from './ip-claims.ts'
import type { PortClaims } from './port-claims.ts'

/** No write takes longer: upstream's default of --request-timeout. */
const writeMs = 60_000

export interface Repair {
  /** IPs that a stored Service has, but no IPAddress claims. */
  missingIps: { ip: string; service: KubeObject }[]
  missingPorts: number[]
  /** IPAddresses that no stored Service has, and that are older than a write can last. */
  leakedIps: IpAddress[]
  leakedPorts: number[]
}

/**
 * Compares stored Services with the claims on their IPs and ports, and lists claims that are missing or leaked. A claim
 * without a Service leaks only once it is older than any write under way can be. Upstream:
 * pkg/registry/core/service/ipallocator/controller, pkg/registry/core/service/portallocator/controller.
 */
export function decideRepair(
  services: Iterable<Service>,
  claims: { ips: Pick<IpClaims, 'all' | 'ageMs'>; ports: Pick<PortClaims, 'taken' | 'takenMs'> },
): Repair {
  const ips = new Map<string, KubeObject>()
  const ports = new Set<number>()
  for (const service of services) {
    const held = holdingOf(service)
    for (const ip of held.ips) ips.set(ip, service as unknown as KubeObject)
    for (const port of held.ports) ports.add(port)
  }
  const addresses = new Map([...claims.ips.all()].map((address) => [address.metadata.name ?? '', address]))
  const takenPorts = new Set(claims.ports.taken())
  const missingIps = [...ips].filter(([ip]) => !addresses.has(ip)).map(([ip, service]) => ({ ip, service }))
  const leakedIps = [...addresses].filter(
    ([ip, address]) => !ips.has(ip) && isManaged(address) && claims.ips.ageMs(address) > writeMs,
  )
  return {
    missingIps,
    missingPorts: [...ports].filter((port) => !takenPorts.has(port)),
    leakedIps: leakedIps.map(([, address]) => address),
    leakedPorts: [...takenPorts].filter((port) => !ports.has(port) && claims.ports.takenMs(port) > writeMs),
  }
}
