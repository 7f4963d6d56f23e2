import { holdingOf, type ServiceHolding } from '../../../../shared/api/services/service-holding.ts'
import type { KubeObject, Service } from '../../../../shared/api/types.ts'
import type { Allocation, ServiceAddresses } from '../../../kind/resource-definition.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { allocate } from './allocate.ts'

const without = (holding: ServiceHolding, other: ServiceHolding): ServiceHolding => ({
  ips: holding.ips.filter((ip) => !other.ips.includes(ip)),
  ports: holding.ports.filter((port) => !other.ports.includes(port)),
})

/**
 * Allocates of what this server finds free, and takes it where all servers see it. Again if another server was first:
 * what that has taken is no longer found free, so that each round but the last is another Service's gain.
 */
export async function allocateShared(
  { service, old, dryRun }: { service: Service; old: Service | undefined; dryRun: boolean },
  addresses: ServiceAddresses,
  errors: FieldErrors,
): Promise<Allocation | undefined> {
  const had = holdingOf(old ?? {})
  const asked = service.spec!
  for (;;) {
    service.spec = { ...asked, ports: asked.ports?.map((port) => ({ ...port })) }
    try {
      allocate(service, old, addresses, errors)
    } finally {
      // Kept from one another for this Service alone: what is taken is decided where all servers see it.
      addresses.release(without(holdingOf(service), had))
    }
    if (errors.length > 0 || dryRun) return undefined
    const wanted = without(holdingOf(service), had)
    if (await addresses.shared!.take(service as unknown as KubeObject, wanted))
      return allocationOf(service, had, addresses)
  }
}

function allocationOf(service: Service, had: ServiceHolding, addresses: ServiceAddresses): Allocation {
  const taken = without(holdingOf(service), had)
  return {
    end: (isStored) => {
      const rest = isStored ? without(had, holdingOf(service)) : taken
      return addresses.shared!.give(service as unknown as KubeObject, rest)
    },
  }
}
