import type { Flow } from '../runtime/network/node-network.ts'
import type { ServicePort } from './service-ports.ts'

/**
 * Returns the places of UDP whose endpoints are others than before. The kernel still leads datagrams of the same
 * sockets to those before, for as long as they come. Upstream: CleanStaleEntries.
 */
export function staleFlows(
  before: readonly ServicePort[],
  now: readonly ServicePort[],
  nodeAddresses: readonly string[],
): Flow[] {
  const old = new Map(before.flatMap((port) => flowsOf(port, nodeAddresses)).map((flow) => [placeOf(flow.at), flow]))
  const current = new Map(now.flatMap((port) => flowsOf(port, nodeAddresses)).map((flow) => [placeOf(flow.at), flow]))
  const ended = [...old].filter(([place]) => !current.has(place)).map(([, { at }]) => ({ at, ends: [] }))
  const isChanged = ([place, { ends }]: [string, Flow]): boolean => {
    const known = new Set((old.get(place)?.ends ?? []).map(placeOf))
    return known.size !== ends.length || ends.some((end) => !known.has(placeOf(end)))
  }
  return [...ended, ...[...current].filter(isChanged).map(([, flow]) => flow)]
}

const flowsOf = ({ ip, protocol, port, endpoints }: ServicePort, nodeAddresses: readonly string[]): Flow[] =>
  protocol === 'udp'
    ? (ip === undefined ? nodeAddresses : [ip]).map((host) => ({
        at: { host, port },
        ends: endpoints.map((end) => ({ host: end.ip, port: end.port })),
      }))
    : []

const placeOf = ({ host, port }: { host: string; port: number }): string => `${host}:${port}`
