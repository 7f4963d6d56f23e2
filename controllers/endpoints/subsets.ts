import type { Service } from '../../shared/api/types.ts'
import type { Endpoints } from '../../shared/api/workloads/workloads.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isReady } from '../workloads/pod-states.ts'
import { hostnameOf, isHeadless, portsOn, referenceTo } from './service-pods.ts'

type Subset = NonNullable<Endpoints['subsets']>[number]
type Address = NonNullable<Subset['addresses']>[number]
type Port = NonNullable<Subset['ports']>[number]

const HEADLESS_LABEL = 'service.kubernetes.io/headless'
const MANAGED_BY_LABEL = 'endpoints.kubernetes.io/managed-by'

export const endpointsLabels = (service: Service): Record<string, string> => ({
  ...service.metadata.labels,
  [MANAGED_BY_LABEL]: 'endpoint-controller',
  ...(isHeadless(service) && { [HEADLESS_LABEL]: '' }),
})

/**
 * Returns the subsets of Endpoints: pods with the same ports share a subset, sorted by address. Terminating pods are
 * left out, unless the service publishes unready addresses. Upstream: pkg/api/v1/endpoints/util.go.
 */
export function subsetsOf(service: Service, pods: readonly TrimmedPod[]): Subset[] {
  const publishAll = service.spec?.publishNotReadyAddresses === true
  const groups = new Map<string, Required<Subset>>()
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp && !publishAll) continue
    const ports: Port[] = portsOn(pod, service)
      .map(({ name, port = 0, ...rest }) => ({ ...(name && { name }), port, ...rest }))
      .sort(byText)
    if (ports.length === 0 && !isHeadless(service)) continue
    const key = JSON.stringify(ports)
    const group = groups.get(key) ?? { addresses: [], notReadyAddresses: [], ports }
    const list = publishAll || isReady(pod) ? group.addresses : group.notReadyAddresses
    list.push(addressOf(pod, service))
    groups.set(key, group)
  }
  return [...groups].sort(byText).map(([, { addresses, notReadyAddresses, ports }]) => ({
    ...(addresses.length > 0 && { addresses: addresses.sort(byIP) }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses: notReadyAddresses.sort(byIP) }),
    ...(ports.length > 0 && { ports }),
  }))
}

function addressOf(pod: TrimmedPod, service: Service): Address {
  const hostname = hostnameOf(pod, service)
  return {
    ip: pod.status?.podIP ?? '',
    ...(hostname && { hostname }),
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: referenceTo(pod),
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))
const byText = (a: unknown, b: unknown): number => compare(JSON.stringify(a), JSON.stringify(b))
const byIP = (a: Address, b: Address): number => compare(a.ip, b.ip)
