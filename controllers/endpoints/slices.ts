import { isDeepStrictEqual } from 'node:util'
import { type Endpoint, SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { controllerReference } from '../informers/ownership.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isReady } from '../workloads/pod-states.ts'
import { type EndpointPort, hostnameOf, isHeadless, portsOn, referenceTo } from './service-pods.ts'

export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by'
export const MANAGER = 'endpointslice-controller.k8s.io'
const HEADLESS_LABEL = 'service.kubernetes.io/headless'
const ZONE_LABEL = 'topology.kubernetes.io/zone'
/** Upstream's default of --max-endpoints-per-slice. */
const MAX_ENDPOINTS = 100

export interface SlicesInput {
  service: Service
  pods: readonly TrimmedPod[]
  nodeOf(name: string): TrimmedNode | undefined
  /** The service's slices that this controller manages. */
  existing: readonly EndpointSlice[]
  /**
   * If false: a terminating pod has no endpoint, unless unready addresses are published, and `ready` is the only
   * condition. True by default.
   */
  terminatingEndpoints?: boolean
}
export interface SlicesPlan {
  create: EndpointSlice[]
  update: EndpointSlice[]
  remove: EndpointSlice[]
}

/**
 * Returns the endpoint of a pod. `serving` is the pod's readiness. A terminating pod is not `ready`, unless the service
 * publishes unready addresses.
 */
export function endpointOf(
  pod: TrimmedPod,
  service: Service,
  node: TrimmedNode | undefined,
  terminatingEndpoints = true,
): Endpoint {
  const serving = isReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const hostname = hostnameOf(pod, service)
  const zone = node?.metadata.labels?.[ZONE_LABEL]
  return {
    addresses: [pod.status?.podIP ?? ''],
    conditions: terminatingEndpoints ? { ready, serving, terminating } : { ready },
    ...(hostname && { hostname }),
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: referenceTo(pod),
    ...(zone && { zone }),
  }
}

/**
 * Plans the writes that make the slices equal to the pods with as few changes as possible: an endpoint stays in its
 * slice. Pure; upstream: staging/src/k8s.io/endpointslice/reconciler.go.
 */
export function planSlices(input: SlicesInput): SlicesPlan {
  const families = input.service.spec?.ipFamilies ?? ['IPv4']
  const plans = families.map((family) => planFamily(input, family))
  const obsolete = input.existing.filter(({ addressType }) => !families.includes(addressType))
  return {
    create: plans.flatMap(({ create }) => create),
    update: plans.flatMap(({ update }) => update),
    remove: [...plans.flatMap(({ remove }) => remove), ...obsolete],
  }
}

function planFamily(input: SlicesInput, family: string): SlicesPlan {
  const { service, pods, nodeOf, existing, terminatingEndpoints = true } = input
  const includesTerminating = terminatingEndpoints || service.spec?.publishNotReadyAddresses === true
  const wanted = new Map<string, { ports: EndpointPort[]; endpoints: Map<string, Endpoint> }>()
  for (const pod of pods) {
    if (pod.status?.podIP?.includes(':') !== (family === 'IPv6')) continue
    if (pod.metadata.deletionTimestamp && !includesTerminating) continue
    const ports = portsOn(pod, service)
    if (ports.length === 0 && !isHeadless(service)) continue
    const key = keyOf(ports)
    const group = wanted.get(key) ?? { ports, endpoints: new Map() }
    group.endpoints.set(
      pod.metadata.uid ?? '',
      endpointOf(pod, service, nodeOf(pod.spec.nodeName ?? ''), terminatingEndpoints),
    )
    wanted.set(key, group)
  }

  const ours = existing.filter(({ addressType }) => addressType === family)
  const create: EndpointSlice[] = []
  const update: EndpointSlice[] = []
  const remove: EndpointSlice[] = ours.filter(({ ports }) => !wanted.has(keyOf(ports ?? [])))
  for (const [key, { ports, endpoints }] of wanted) {
    const kept = ours.filter((slice) => keyOf(slice.ports ?? []) === key)
    const contents = kept.map((slice) => ({ slice, endpoints: take(slice, endpoints) }))
    for (const content of contents) {
      content.endpoints.push(...takeFirst(endpoints, MAX_ENDPOINTS - content.endpoints.length))
      const changed = sliceOf(service, family, ports, content.endpoints, content.slice)
      if (content.endpoints.length === 0) remove.push(content.slice)
      else if (!isDeepStrictEqual(said(changed), said(content.slice))) update.push(changed)
    }
    while (endpoints.size > 0) create.push(sliceOf(service, family, ports, takeFirst(endpoints, MAX_ENDPOINTS)))
  }
  // A service without endpoints has a slice that says so.
  if (create.length === 0 && remove.length === ours.length) {
    const nothing = sliceOf(service, family, [], [])
    const [same] = remove.filter((slice) => isDeepStrictEqual(said(slice), said(nothing)))
    if (same) remove.splice(remove.indexOf(same), 1)
    else create.push(nothing)
  }
  // What is to go becomes what is to come.
  while (create.length > 0 && remove.length > 0) {
    const { metadata } = remove.pop()!
    const next = create.pop()!
    update.push({ ...next, metadata: { ...metadata, labels: next.metadata.labels } })
  }
  return { create, update, remove }
}

/** The slice's endpoints that are still wanted, as they are now; they are wanted no more after that. */
function take(slice: EndpointSlice, wanted: Map<string, Endpoint>): Endpoint[] {
  return (slice.endpoints ?? []).flatMap(({ targetRef }) => {
    const uid = targetRef?.uid ?? ''
    const endpoint = wanted.get(uid)
    wanted.delete(uid)
    return endpoint ?? []
  })
}

function takeFirst(wanted: Map<string, Endpoint>, count: number): Endpoint[] {
  const first = [...wanted].slice(0, Math.max(0, count))
  for (const [uid] of first) wanted.delete(uid)
  return first.map(([, endpoint]) => endpoint)
}

function sliceOf(
  service: Service,
  family: string,
  ports: EndpointPort[],
  endpoints: Endpoint[],
  old?: EndpointSlice,
): EndpointSlice {
  const { namespace, name } = service.metadata
  const labels = {
    ...service.metadata.labels,
    [SERVICE_LABEL]: name ?? '',
    [MANAGED_BY_LABEL]: MANAGER,
    ...(isHeadless(service) && { [HEADLESS_LABEL]: '' }),
  }
  const metadata = old?.metadata ?? {
    namespace,
    generateName: `${name}-`,
    ownerReferences: [controllerReference({ apiVersion: 'v1', kind: 'Service' }, service.metadata)],
  }
  return { metadata: { ...metadata, labels }, addressType: family, endpoints, ports }
}

const said = ({ metadata, endpoints, ports }: EndpointSlice) => [metadata.labels, endpoints ?? [], keyOf(ports ?? [])]

const keyOf = (ports: readonly EndpointPort[]): string =>
  JSON.stringify(
    ports.map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol]).sort(compareTexts),
  )

const compareTexts = (a: unknown[], b: unknown[]): number =>
  String(a) < String(b) ? -1 : Number(String(a) > String(b))
