import { networkInterfaces } from 'node:os'
import { LINK_PREFIX } from '../../../shared/network/machine-routes.ts'

/** Returns the IPv4 addresses of this machine, but for its loopback and its ends of links to nodes. */
export const machineAddresses = (): string[] =>
  Object.entries(networkInterfaces())
    .filter(([name]) => !name.startsWith(LINK_PREFIX))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
