import { readFileSync, statSync } from 'node:fs'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NetworkPlace, NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { serveDns } from './dns-server.ts'
import { Forwarder } from './forwarder.ts'
import { Resolver } from './resolver.ts'
import type { ZoneServices } from './zone.ts'

/** Serves the names of the cluster's Services at this address of the node, and those that the machine resolves. */
export function openDns({
  services,
  ...options
}: {
  network: Pick<NodeNetwork, 'bind' | 'listen'>
  clock: Clock
  host: string
  services: ZoneServices
  warn(message: string): void
}): Promise<Served> {
  const forwarder = new Forwarder({ ...options, servers: machineResolvers() })
  return serveDns({ ...options, resolver: new Resolver(services, forwarder) })
}

/**
 * Returns what tells the resolvers that a file names now, by default those of this machine. The file is read again when
 * it has changed.
 */
export function machineResolvers(file = '/etc/resolv.conf'): () => NetworkPlace[] {
  let readMs: number | undefined
  let resolvers: NetworkPlace[] = []
  return () => {
    const { mtimeMs } = statSync(file)
    if (mtimeMs !== readMs) resolvers = resolversOf(readFileSync(file, 'utf8'))
    readMs = mtimeMs
    return resolvers
  }
}

/** Returns the resolvers that a file like `/etc/resolv.conf` names. */
const resolversOf = (text: string): NetworkPlace[] =>
  [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, host = '']) => ({ host, port: 53 }))
