import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { AddressRange } from '../../../../shared/api/services/address-range.ts'
import { LINK_PREFIX } from '../../network/node-network.ts'

/** The name of the machine's end of the link to a node's network, by the node's folder: two nodes have two. */
export const linkName = (root: string): string =>
  `${LINK_PREFIX}${createHash('sha256').update(root).digest('hex').slice(0, 5)}`

/** Says why the machine cannot have a route to this range by the link; undefined: it can. */
export function whyNoLink(range: AddressRange, name: string, routes = machineRoutes()): string | undefined {
  if (process.getuid?.() !== 0) return 'that needs root'
  const other = routes.find(({ device, network }) => device !== name && network.overlaps(range))
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

export interface Route {
  device: string
  network: AddressRange
  metric: number
}

/** Returns the number of a cluster, which the routes to its Services carry in their metrics. */
export const ownerOf = (cluster: string): number =>
  createHash('sha256').update(cluster).digest().readUInt32BE() >>> (32 - OWNER_BITS)

/** Metrics are shown as signed numbers, and 12 bits of them are the link's. */
const OWNER_BITS = 19

/**
 * Says why the machine cannot have a route to the Services of a cluster; undefined: it can, or has it by another node.
 */
export function whyNoServices(range: AddressRange, owner: number, routes = machineRoutes()): string | undefined {
  const other = routes.find(({ network, metric }) => network.overlaps(range) && metric >>> 12 !== owner)
  return other && `the machine has a route to ${other.network.cidr} by ${other.device}`
}

/** Returns the routes of this machine, without default routes. */
export function machineRoutes(): Route[] {
  try {
    return parseRoutes(readFileSync('/proc/net/route', 'latin1'))
  } catch {
    return []
  }
}

/** Reads the table of `/proc/net/route`; its addresses are in the order of the processor's bytes, which is little-endian. */
export function parseRoutes(table: string): Route[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .flatMap(([device = '', to = '', , , , , metric = '', mask = '']) => {
      const bits = [...BigInt(`0x${mask || 0}`).toString(2)].filter((bit) => bit === '1').length
      return bits === 0
        ? []
        : [{ device, network: new AddressRange(`${addressOf(to)}/${bits}`), metric: Number(metric) }]
    })
}

const addressOf = (hex: string): string =>
  (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.')
