import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { AddressRange } from '../../../../shared/api/services/address-range.ts'
import { LINK_PREFIX, machineRoutes } from '../../../../shared/network/machine-routes.ts'

/** The name of the machine's end of the link to a node's network, by the node's folder: two nodes have two. */
export const linkName = (root: string): string =>
  `${LINK_PREFIX}${createHash('sha256').update(root).digest('hex').slice(0, 5)}`

/** Says why the machine cannot have a route to this range by the link; undefined: it can. */
export function whyNoLink(range: AddressRange, name: string): string | undefined {
  if (process.getuid?.() !== 0) return 'that needs root'
  const other = machineRoutes().find(({ device, network }) => device !== name && network.overlaps(range))
  return other && `the machine has a route to ${other.network.cidr} by ${other.device}`
}

/**
 * Lets the machine pass on what comes by this link, which is what pods send to other nodes of it. The setting is that
 * of this link alone, and vanishes with it.
 */
export function forwardFrom(name: string): void {
  try {
    writeFileSync(`/proc/sys/net/ipv4/conf/${name}/forwarding`, '1')
  } catch {
    // The settings of a container may be read-only: then pods reach the machine, and no other node.
  }
}

/** Returns the number of a cluster, which the routes to its Services carry in their metrics. */
export const ownerOf = (cluster: string): number =>
  createHash('sha256').update(cluster).digest().readUInt32BE() >>> (32 - OWNER_BITS)

/** Metrics are shown as signed numbers, and 12 bits of them are the link's. */
const OWNER_BITS = 19

/**
 * Says why the machine cannot have a route to the Services of a cluster; undefined: it can, or has it by another node.
 */
export function whyNoServices(range: AddressRange, owner: number): string | undefined {
  const other = machineRoutes().find(({ network, metric }) => network.overlaps(range) && metric >>> 12 !== owner)
  return other && `the machine has a route to ${other.network.cidr} by ${other.device}`
}
