import type { Service } from '../../../../shared/api/types.ts'
import type { Allocation, ServiceAddresses } from '../../../kind/resource-definition.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { allocate } from './allocate.ts'

interface Parts {
  service: Service
  old: Service | undefined
  dryRun: boolean
}

/** Allocates where this server alone gives addresses. What is not stored in the end is free again at once. */
export function allocateAlone(
  { service, old, dryRun }: Parts,
  addresses: ServiceAddresses,
  errors: FieldErrors,
): Allocation | undefined {
  const taken = { ips: [] as string[], ports: [] as number[] }
  const recorded: ServiceAddresses = {
    ...addresses,
    takeIp: (ip) => addresses.takeIp(ip) ?? void taken.ips.push(ip),
    nextIp: () => noted(addresses.nextIp(), taken.ips),
    takePort: (port) => addresses.takePort(port) ?? void taken.ports.push(port),
    nextPort: () => noted(addresses.nextPort(), taken.ports),
  }
  const release = (): void => addresses.release(taken)
  allocate(service, old, recorded, errors)
  if (dryRun || errors.length > 0) {
    release()
    return undefined
  }
  return {
    async end(isStored) {
      if (!isStored) release()
    },
  }
}

function noted<T>(value: T, list: T[]): T {
  list.push(value)
  return value
}
