import { isDeepStrictEqual } from 'node:util'
import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { matchesLabels, type Requirement } from '../../shared/api/selectors/label-selector.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import type { Informer } from '../../shared/client/informer.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isReady } from '../workloads/pod-states.ts'

export type EndpointPort = NonNullable<EndpointSlice['ports']>[number]

/** Returns the selector of a service; undefined if another component maintains its endpoints. */
export function selectorOf({ spec }: Service): Requirement[] | undefined {
  if (!spec?.selector || spec.type === 'ExternalName') return undefined
  return Object.entries(spec.selector).map(([key, value]) => ({ key, operator: 'in', values: [value] }))
}

/** The pods that the service selects and that have an address, those that are being deleted included. */
export function podsOf(service: Service, pods: Informer<TrimmedPod>): TrimmedPod[] {
  const selector = selectorOf(service)
  if (!selector) return []
  return pods
    .byIndex('namespace', service.metadata.namespace ?? '')
    .filter((pod) => pod.status?.podIP && !hasEnded(pod) && matchesLabels(selector, pod.metadata.labels))
}

export const isHeadless = ({ spec }: Service): boolean => !spec?.clusterIP || spec.clusterIP === 'None'

/** Returns the pod's ports for the service's ports. A named port that the pod does not have is left out. */
export const portsOn = (pod: TrimmedPod, { spec }: Service): EndpointPort[] =>
  (spec?.ports ?? []).flatMap(({ name = '', port, targetPort = port, protocol = 'TCP', appProtocol }) => {
    const found = numberOn(pod, targetPort as number | string, protocol)
    return found === undefined ? [] : [{ name, port: found, protocol, ...(appProtocol && { appProtocol }) }]
  })

function numberOn({ spec }: TrimmedPod, target: number | string, protocol: string): number | undefined {
  if (typeof target === 'number') return target
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const ports = [...spec.containers, ...sidecars].flatMap(({ ports = [] }) => ports)
  return ports.find((port) => port.name === target && (port.protocol ?? 'TCP') === protocol)?.containerPort
}

/** Returns the pod's host name within the service's domain; undefined if it has none. */
export const hostnameOf = ({ spec }: TrimmedPod, service: Service): string | undefined =>
  spec.subdomain === service.metadata.name ? spec.hostname : undefined

export const referenceTo = ({ metadata }: TrimmedPod) => ({
  kind: 'Pod',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
})

/** Tells services of news of their pods that concern endpoints. */
export function followEndpointPods(
  services: Informer<Service>,
  pods: Informer<TrimmedPod>,
  consider: (service: Service) => void,
): void {
  const tell = (...states: TrimmedPod[]): void => {
    for (const service of services.byIndex('namespace', states[0]?.metadata.namespace ?? '')) {
      const selector = selectorOf(service)
      if (selector && states.some(({ metadata }) => matchesLabels(selector, metadata.labels))) consider(service)
    }
  }
  const tellOne = (pod: TrimmedPod): void => {
    if (pod.status?.podIP) tell(pod)
  }
  pods.addHandler({
    onAdd: tellOne,
    onUpdate(pod, old) {
      if (!isDeepStrictEqual(concernOf(pod), concernOf(old))) tell(pod, old)
    },
    onDelete: tellOne,
  })
}

const concernOf = (pod: TrimmedPod) => [
  pod.status?.podIP,
  isReady(pod),
  hasEnded(pod),
  pod.metadata.deletionTimestamp !== undefined,
  pod.spec.nodeName,
  pod.metadata.labels,
]
