import { AddressRange } from '../api/services/address-range.ts'
import { textOf } from '../files/readable.ts'

export interface Route {
  device: string
  network: AddressRange
  metric: number
}

/** Begins the names of the machine's ends of links to nodes. */
export const LINK_PREFIX = 'kubestage-'

/** Returns the routes of this machine, without default routes. */
export const machineRoutes = (): Route[] => parseRoutes(textOf('/proc/net/route', 'latin1'))

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
