import { parseQuantity } from '../../shared/api/quantities/quantity.ts'
import type { Container, Pod } from '../../shared/api/types.ts'

export type NodeAllocatable = Record<string, string>

export function fieldValue(pod: Pod, path: string, { podIP, hostIP }: { podIP: string; hostIP: string }): string {
  const { metadata, spec } = pod
  const entry = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path)
  if (entry) return metadata[entry[1] as 'labels' | 'annotations']?.[entry[2] ?? ''] ?? ''
  const values: Record<string, string | undefined> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'metadata.labels': lines(metadata.labels),
    'metadata.annotations': lines(metadata.annotations),
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
    'status.hostIP': hostIP,
    'status.hostIPs': hostIP,
    'status.podIP': podIP,
    'status.podIPs': podIP,
  }
  return values[path] ?? ''
}

/** `key="value"` a line, sorted. */
const lines = (map: Record<string, string> = {}): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort()
    .join('\n')

export interface ResourceFieldRef {
  containerName?: string
  resource: string
  divisor?: string
}

/** The downward API's `resourceFieldRef`, rounded up; a limit that is not set is all that the node has. */
export function resourceFieldValue(
  pod: Pod,
  container: Container,
  ref: ResourceFieldRef,
  allocatable: NodeAllocatable,
): string {
  const subject =
    [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(({ name }) => name === ref.containerName) ??
    container
  const [list = '', ...rest] = ref.resource.split('.')
  const resource = rest.join('.')
  const { limits, requests } = subject.resources ?? {}
  const text =
    list === 'limits'
      ? (limits?.[resource] ?? allocatable[resource] ?? '0')
      : (requests?.[resource] ?? limits?.[resource] ?? '0')
  const divisor = ref.divisor && ref.divisor !== '0' ? ref.divisor : '1'
  const value = parseQuantity(text).nano
  const unit = parseQuantity(divisor).nano
  return String((value + unit - 1n) / unit)
}
