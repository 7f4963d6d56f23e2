import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads/workloads.ts'
import { controllerReference } from '../informers/ownership.ts'
import { MANAGED_BY_LABEL, type SlicesPlan } from './slices.ts'

export const MIRROR_MANAGER = 'endpointslicemirroring-controller.k8s.io'
const SKIP_LABEL = 'endpointslice.kubernetes.io/skip-mirror'
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader'
const NOT_COPIED = [
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]
/** Upstream's default of --mirroring-max-endpoints-per-subset. */
const MAX_ADDRESSES = 1000

type Subset = NonNullable<Endpoints['subsets']>[number]
type Address = NonNullable<Subset['addresses']>[number]
type Port = NonNullable<Subset['ports']>[number]

export interface MirrorPlan extends SlicesPlan {
  /** Counts the addresses beyond the limit of a subset. */
  skipped: number
}

/**
 * Returns whether Endpoints are mirrored. A component may exclude its own by a label; the locks of old leader elections
 * are excluded, too.
 */
export const isMirrored = ({ metadata }: Endpoints): boolean =>
  metadata.labels?.[SKIP_LABEL] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined

/**
 * Plans the writes that make `existing`, the mirrored slices, equal to the Endpoints. Pure; upstream:
 * pkg/controller/endpointslicemirroring.
 */
export function planMirror(endpoints: Endpoints, existing: readonly EndpointSlice[]): MirrorPlan {
  const plan: MirrorPlan = { create: [], update: [], remove: [], skipped: 0 }
  const left = new Set(existing)
  const byPorts = Map.groupBy(existing, portsKey)
  const missing: EndpointSlice[] = []
  for (const { ports, addresses } of repack(endpoints.subsets ?? [])) {
    const mirrored = addresses.slice(0, MAX_ADDRESSES)
    plan.skipped += addresses.length - mirrored.length
    for (const addressType of ['IPv4', 'IPv6'] as const) {
      const family = mirrored.filter(({ address }) => (isIP(address.ip) === 6) === (addressType === 'IPv6'))
      if (family.length === 0) continue
      const wanted = sliceOf(endpoints, { addressType, ports, addresses: family })
      const same = byPorts.get(portsKey(wanted))?.shift()
      if (!same) missing.push(wanted)
      else {
        left.delete(same)
        if (!isDeepStrictEqual(said(same), said(wanted))) plan.update.push(named(wanted, same))
      }
    }
  }
  // A slice that is not needed any more becomes one that is.
  const byFamily = Map.groupBy([...left].reverse(), ({ addressType }) => addressType)
  for (const slice of missing) {
    const old = byFamily.get(slice.addressType)?.pop()
    if (!old) plan.create.push(slice)
    else {
      left.delete(old)
      plan.update.push(named(slice, old))
    }
  }
  plan.remove.push(...left)
  return plan
}

/** Slices of one family with the same ports have the same key. */
const portsKey = ({ addressType, ports }: EndpointSlice): string =>
  JSON.stringify([
    addressType,
    ...(ports ?? []).map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol]),
  ])

interface ReadyAddress {
  address: Address
  ready: boolean
}

/**
 * Each address once for each port, and ports with the same addresses together; not ready trumps ready. Upstream:
 * pkg/api/v1/endpoints RepackSubsets.
 */
function repack(subsets: readonly Subset[]): { ports: Port[]; addresses: ReadyAddress[] }[] {
  const byPort = new Map<string, { port: Port | undefined; addresses: Map<string, ReadyAddress> }>()
  for (const { ports = [], addresses = [], notReadyAddresses = [] } of subsets) {
    const all = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ]
    for (const port of ports.length > 0 ? ports : [undefined]) {
      const key = JSON.stringify(port && [port.name, port.port, port.protocol, port.appProtocol]) ?? ''
      const known = byPort.get(key) ?? { port, addresses: new Map<string, ReadyAddress>() }
      byPort.set(key, known)
      for (const one of all) {
        const id = `${one.address.ip} ${one.address.targetRef?.uid ?? ''}`
        if (known.addresses.get(id)?.ready !== false) known.addresses.set(id, one)
      }
    }
  }
  const groups = new Map<string, { ports: Port[]; addresses: ReadyAddress[] }>()
  for (const { port, addresses } of byPort.values()) {
    const sorted = [...addresses].sort(byText)
    const key = JSON.stringify(sorted.map(([id, { ready }]) => [id, ready]))
    // Ready addresses come first, so that the limit cuts off the others.
    const readyFirst = sorted.map(([, one]) => one).sort((a, b) => Number(b.ready) - Number(a.ready))
    const group = groups.get(key) ?? { ports: [], addresses: readyFirst }
    if (port) group.ports.push(port)
    groups.set(key, group)
  }
  return [...groups.values()]
}

const byText = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : Number(a > b))

function sliceOf(
  endpoints: Endpoints,
  parts: { addressType: 'IPv4' | 'IPv6'; ports: Port[]; addresses: ReadyAddress[] },
): EndpointSlice {
  const { name = '', namespace, labels, annotations = {} } = endpoints.metadata
  const copied = Object.entries(annotations).filter(([key]) => !NOT_COPIED.includes(key))
  return {
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...labels, [SERVICE_LABEL]: name, [MANAGED_BY_LABEL]: MIRROR_MANAGER },
      ...(copied.length > 0 && { annotations: Object.fromEntries(copied) }),
      ownerReferences: [controllerReference({ apiVersion: 'v1', kind: 'Endpoints' }, endpoints.metadata)],
    },
    addressType: parts.addressType,
    ports: parts.ports.map(({ name: portName = '', port, protocol = 'TCP', appProtocol }) => ({
      name: portName,
      port,
      protocol,
      ...(appProtocol && { appProtocol }),
    })),
    endpoints: parts.addresses.map(({ address: { ip, hostname, nodeName, targetRef }, ready }) => ({
      addresses: [ip],
      conditions: { ready },
      ...(hostname && { hostname }),
      ...(nodeName && { nodeName }),
      ...(targetRef && { targetRef }),
    })),
  }
}

const named = (wanted: EndpointSlice, { metadata }: EndpointSlice): EndpointSlice => {
  const { labels, annotations, ownerReferences } = wanted.metadata
  const { annotations: _replaced, ...kept } = metadata
  return { ...wanted, metadata: { ...kept, labels, ...(annotations && { annotations }), ownerReferences } }
}
const said = ({ metadata, ports, endpoints }: EndpointSlice) => [
  metadata.labels,
  metadata.annotations ?? {},
  metadata.ownerReferences?.map(({ uid }) => uid),
  ports ?? [],
  endpoints ?? [],
]
