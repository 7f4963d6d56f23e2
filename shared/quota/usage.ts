import type { ResourceList } from '../api/quantities/resource-list.ts'
import type { KubeObject, Pod, Service } from '../api/types.ts'
import { podUsage } from './pod-usage.ts'

export interface GroupResource {
  group: string
  plural: string
}

/** Resources that quotas count under their plain names. */
const plainlyCounted = [
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]

const countName = ({ group, plural }: GroupResource): string => `count/${plural}${group && `.${group}`}`

/** Returns what one object uses of quotas. Upstream: pkg/quota/v1/evaluator. */
export function usageOf(resource: GroupResource, object: KubeObject, nowMs: number): ResourceList {
  if (resource.group !== '') return { [countName(resource)]: '1' }
  if (resource.plural === 'pods') return podUsage(object as unknown as Pod, nowMs)
  const counted = {
    [countName(resource)]: '1',
    ...(plainlyCounted.includes(resource.plural) && { [resource.plural]: '1' }),
  }
  if (resource.plural === 'services') return { ...counted, ...serviceUsage(object as unknown as Service) }
  if (resource.plural === 'persistentvolumeclaims') return { ...counted, ...claimUsage(object) }
  return counted
}

function serviceUsage({ spec }: Service): ResourceList {
  const { type, ports = [], allocateLoadBalancerNodePorts } = spec ?? {}
  const isBalanced = type === 'LoadBalancer'
  const hasNodePorts = type === 'NodePort' || (isBalanced && allocateLoadBalancerNodePorts !== false)
  const nodePorts = hasNodePorts ? ports.length : isBalanced ? ports.filter(({ nodePort }) => nodePort).length : 0
  return { 'services.nodeports': String(nodePorts), 'services.loadbalancers': isBalanced ? '1' : '0' }
}

const classSuffix = '.storageclass.storage.k8s.io/'

function claimUsage({ spec, metadata, status }: KubeObject): ResourceList {
  const { resources, storageClassName } = (spec ?? {}) as {
    resources?: { requests?: Record<string, string> }
    storageClassName?: string
  }
  const allocated = (status as { allocatedResources?: Record<string, string> } | undefined)?.allocatedResources?.storage
  const asked = resources?.requests?.storage
  const storage = allocated ?? asked
  const className = metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? storageClassName
  const own = { persistentvolumeclaims: '1', ...(storage !== undefined && { 'requests.storage': storage }) }
  if (!className) return own
  return {
    ...own,
    ...Object.fromEntries(Object.entries(own).map(([name, amount]) => [className + classSuffix + name, amount])),
  }
}

/** The resource whose objects count for a name in a quota; undefined for other names. */
export function countedBy(name: string): GroupResource | undefined {
  if (name.startsWith('count/')) {
    const [plural = '', ...group] = name.slice('count/'.length).split('.')
    return { group: group.join('.'), plural }
  }
  if (plainlyCounted.includes(name)) return { group: '', plural: name }
  if (name.startsWith('services.')) return { group: '', plural: 'services' }
  if (name === 'requests.storage' || name.includes(classSuffix)) return { group: '', plural: 'persistentvolumeclaims' }
  const isOfPods = /^(pods|cpu|memory|ephemeral-storage|hugepages-.*|(requests|limits)\..*)$/.test(name)
  return isOfPods ? { group: '', plural: 'pods' } : undefined
}

export const namesCountedBy = (resource: GroupResource, names: readonly string[]): string[] =>
  names.filter((name) => {
    const found = countedBy(name)
    return found?.group === resource.group && found.plural === resource.plural
  })

/** Formats amounts as quota messages show them: `pods=1,requests.cpu=2`. */
export const printList = (list: ResourceList): string =>
  Object.keys(list)
    .sort()
    .map((name) => `${name}=${list[name]}`)
    .join(',')
