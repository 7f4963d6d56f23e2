import type { Pod } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { isLoopback } from '../../shared/client/loopback.ts'

/** An address of a pod that requests can be sent to. */
export interface Endpoint {
  uid: string
  pod: string
  address: string
  port: number
  /** New connections are meant to come. */
  isReady: boolean
  /** The pod still answers, though it ends. */
  isServing: boolean
  /** Says why the address means another pod, or none, on this machine. */
  elsewhere?: string
}

/** Describes the machine that requests are sent from. */
export interface Here {
  /** Holds the host of the API server's URL. */
  server: string
  /** Holds the addresses of this machine. */
  addresses: ReadonlySet<string>
}

type PodFacts = Pick<Pod, 'metadata' | 'spec' | 'status'>

/**
 * Returns the endpoints of a Service's EndpointSlices that belong to the named port. Only addresses of pods of this
 * cluster count, because a slice can contain any address.
 */
export function sliceEndpoints(
  slices: Iterable<EndpointSlice>,
  { portName, podOf, here }: { portName: string; podOf(name: string): PodFacts | undefined; here: Here },
): Endpoint[] {
  const found = new Map<string, Endpoint>()
  for (const { ports, endpoints } of slices) {
    const port = ports?.find(({ name = '', protocol = 'TCP' }) => name === portName && protocol === 'TCP')?.port
    if (port === undefined) continue
    for (const { addresses, conditions, targetRef } of endpoints ?? []) {
      const pod = targetRef?.kind === 'Pod' ? podOf(targetRef.name ?? '') : undefined
      const [address = ''] = addresses
      if (!pod || pod.metadata.uid !== targetRef?.uid || !hasAddress(pod, address)) continue
      const isReady = conditions?.ready ?? true
      const isServing = conditions?.serving ?? isReady
      found.set(targetRef?.uid ?? '', { ...endpointOf(pod, here), address, port, isReady, isServing })
    }
  }
  return [...found.values()]
}

/** Returns the running pods themselves as endpoints, for load without a Service. */
export function podEndpoints(
  pods: Iterable<PodFacts>,
  { portOf, here }: { portOf(pod: PodFacts): number; here: Here },
): Endpoint[] {
  return [...pods].flatMap((pod) => {
    const { status, metadata } = pod
    if (!status?.podIP || status.phase !== 'Running') return []
    const isServing = status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
    const isReady = isServing && !metadata.deletionTimestamp
    return [{ ...endpointOf(pod, here), address: status.podIP, port: portOf(pod), isReady, isServing }]
  })
}

/**
 * Returns the endpoints that new connections go to, as kube-proxy chooses them: the ready ones or, if none is ready,
 * the terminating ones that still serve.
 */
export function chosen(endpoints: readonly Endpoint[]): Endpoint[] {
  const reachable = endpoints.filter(({ elsewhere }) => elsewhere === undefined)
  const ready = reachable.filter(({ isReady }) => isReady)
  return ready.length > 0 ? ready : reachable.filter(({ isServing }) => isServing)
}

function endpointOf(pod: PodFacts, here: Here): Pick<Endpoint, 'uid' | 'pod' | 'elsewhere'> {
  const { uid = '', name = '' } = pod.metadata
  return { uid, pod: name, elsewhere: isElsewhere(pod, here) ? `pod ${name} on node ${pod.spec.nodeName}` : undefined }
}

const hasAddress = ({ status }: PodFacts, address: string): boolean =>
  status?.podIP === address || (status?.podIPs?.some(({ ip }) => ip === address) ?? false)

/** A loopback address means a pod only on the machine of its node. */
function isElsewhere({ status }: PodFacts, { server, addresses }: Here): boolean {
  const isHere = (host = ''): boolean => isLoopback(host) || addresses.has(host.replace(/^\[(.*)\]$/, '$1'))
  return isLoopback(status?.podIP ?? '') && !(isHere(status?.hostIP) && isHere(server))
}
