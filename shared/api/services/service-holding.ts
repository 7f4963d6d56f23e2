import type { Service } from '../types.ts'

/** Names the cluster IPs and node ports of a Service. */
export interface ServiceHolding {
  ips: readonly string[]
  ports: readonly number[]
}

/** Returns the cluster IPs and node ports that a Service holds. */
export function holdingOf({ spec }: Pick<Service, 'spec'>): ServiceHolding {
  const ports = [...(spec?.ports ?? []).map(({ nodePort }) => nodePort), spec?.healthCheckNodePort]
  return {
    ips: (spec?.clusterIPs ?? []).filter((ip) => ip !== 'None'),
    ports: [...new Set(ports)].filter((port) => port !== undefined && port > 0) as number[],
  }
}
