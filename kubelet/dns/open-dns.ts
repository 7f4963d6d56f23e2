import { readFileSync } from 'node:fs'
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
  network: NodeNetwork
  clock: Clock
  host: string
  services: ZoneServices
  warn(message: string): void
}): Promise<Served> {
  const forwarder = new Forwarder({ ...options, servers: machineResolvers })
  return serveDns({ ...options, resolver: new Resolver(services, forwarder) })
}

/** Returns the resolvers of this machine, as it names them now. */
export function machineResolvers(): NetworkPlace[] {
  return resolversOf(readFileSync('/etc/resolv.conf', 'utf8'))
}

/** Returns the resolvers that a file like `/etc/resolv.conf` names. */
export const resolversOf = (text: string): NetworkPlace[] =>
  [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, host = '']) => ({ host, port: 53 }))
