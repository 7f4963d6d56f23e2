import type { Duplex } from 'node:stream'
import { LINK_LABEL, NETWORK_LABEL } from '../../shared/api/pods/network-labels.ts'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import type { Node } from '../../shared/api/types.ts'
import type { Dial } from '../../shared/http/dial.ts'
import { LINK_PREFIX, machineRoutes, type Route } from '../../shared/network/machine-routes.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { EndpointAddress } from './service-endpoints.ts'

/** Connects to a port of a pod by the kubelet of its node. Rejects with the error of a socket. */
export type DialByKubelet = (node: Node, to: { address: string; port: number }) => Promise<Duplex>

/** Returns how a pod is reached where this machine has no way to its address; undefined: at its address. */
export type WayToPod = (to: EndpointAddress) => Dial | undefined

const nodes = { group: '', plural: 'nodes' }

/** A pod with a network of its own is reached by the kubelet of its node, unless this machine has a route to it. */
export const wayToPod =
  (lookup: Lookup, dial: DialByKubelet): WayToPod =>
  ({ address, port, nodeName }) => {
    const node = nodeName ? (lookup(nodes, undefined, nodeName) as Node | undefined) : undefined
    const { podCIDR } = node?.spec ?? {}
    if (!node || !podCIDR || node.metadata.labels?.[NETWORK_LABEL] !== 'pod') return undefined
    const range = new AddressRange(podCIDR)
    if (range.indexOf(address) === undefined || hasRoute(range, node.metadata.labels[LINK_LABEL])) return undefined
    return () => dial(node, { address, port })
  }

/** The link of another cluster does not lead to these pods, nor does a route to a wider range. */
const hasRoute = (range: AddressRange, link: string | undefined, routes: Route[] = machineRoutes()): boolean =>
  routes.some(
    ({ network, device }) => network.cidr === range.cidr && (device === link || !device.startsWith(LINK_PREFIX)),
  )
