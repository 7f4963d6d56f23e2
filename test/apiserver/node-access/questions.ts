/** What the node authorizer is asked: each verb for each of these objects. */
import { configMaps, secrets } from './world.ts'

export const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const

export interface Question {
  group?: string
  resource: string
  subresource?: string
  namespace?: string
  /** Absent: a collection. */
  name?: string
  fieldSelector?: { key: string; value: string }
}

const named = (question: Question, ...names: string[]): Question[] => [
  question,
  ...names.map((name) => ({ ...question, name })),
]
const here = { namespace: 'default' }
const sub = (resource: string, subresource: string) => ({ resource, subresource })
const field = (key: string, value: string) => ({ fieldSelector: { key, value } })
const storage = { group: 'storage.k8s.io' }
const devices = { group: 'resource.k8s.io' }
const leases = { group: 'coordination.k8s.io', resource: 'leases' }

export const questions: readonly Question[] = [
  ...named({ resource: 'nodes' }, 'n1', 'n2'),
  ...named({ ...sub('nodes', 'status') }, 'n1', 'n2'),
  ...named({ ...sub('nodes', 'proxy') }, 'n1'),
  { resource: 'nodes', ...field('metadata.name', 'n1') },
  ...named({ resource: 'pods', ...here }, 'mine', 'theirs', 'pending', 'gone'),
  { resource: 'pods' },
  { resource: 'pods', ...field('spec.nodeName', 'n1') },
  { resource: 'pods', ...field('spec.nodeName', 'n2') },
  { resource: 'pods', ...here, ...field('spec.nodeName', 'n1') },
  ...['status', 'eviction', 'binding', 'exec', 'log', 'ephemeralcontainers', 'resize', 'proxy'].flatMap((name) => [
    { ...sub('pods', name), ...here, name: 'mine' },
    { ...sub('pods', name), ...here, name: 'theirs' },
  ]),
  ...named({ resource: 'secrets', ...here }, ...secrets, 'gone'),
  { resource: 'secrets', namespace: 'elsewhere', name: 'volume' },
  { resource: 'secrets' },
  { ...sub('secrets', 'status'), ...here, name: 'volume' },
  ...named({ resource: 'configmaps', ...here }, ...configMaps),
  ...named({ resource: 'persistentvolumeclaims', ...here }, 'data', 'mine-scratch', 'unused'),
  ...named({ ...sub('persistentvolumeclaims', 'status'), ...here }, 'data', 'mine-scratch', 'unused'),
  ...named({ resource: 'persistentvolumes' }, 'disk', 'spare'),
  { ...sub('persistentvolumes', 'status'), name: 'disk' },
  ...named({ resource: 'serviceaccounts', ...here }, 'robot', 'stranger', 'default'),
  ...named({ ...sub('serviceaccounts', 'token'), ...here }, 'robot', 'stranger', 'default'),
  ...named({ resource: 'services', ...here }, 'web'),
  { ...sub('services', 'proxy'), ...here, name: 'web' },
  ...named({ resource: 'endpoints', ...here }, 'web'),
  ...named({ resource: 'events', ...here }, 'e'),
  ...named({ group: 'events.k8s.io', resource: 'events', ...here }, 'e'),
  ...named({ resource: 'namespaces' }, 'default'),
  ...named({ resource: 'resourcequotas', ...here }, 'q'),
  ...named({ group: 'apps', resource: 'deployments', ...here }, 'd'),
  ...named({ ...leases, namespace: 'kube-node-lease' }, 'n1', 'n2'),
  ...named({ ...leases, ...here }, 'n1'),
  ...named({ ...storage, resource: 'csinodes' }, 'n1', 'n2'),
  { ...storage, ...sub('csinodes', 'status'), name: 'n1' },
  ...named({ ...storage, resource: 'csidrivers' }, 'driver'),
  ...named({ ...storage, resource: 'storageclasses' }, 'fast'),
  ...named({ ...storage, resource: 'volumeattachments' }, 'at-n1', 'at-n2'),
  { ...storage, ...sub('volumeattachments', 'status'), name: 'at-n1' },
  ...named({ ...devices, resource: 'resourceclaims', ...here }, 'gpu', 'unused'),
  { ...devices, ...sub('resourceclaims', 'status'), ...here, name: 'gpu' },
  ...named({ ...devices, resource: 'resourceslices' }, 'slice-n1', 'slice-n2'),
  { ...devices, resource: 'resourceslices', ...field('spec.nodeName', 'n1') },
  { ...devices, resource: 'resourceslices', ...field('spec.nodeName', 'n2') },
  ...named({ ...devices, resource: 'deviceclasses' }, 'gpu'),
  ...named({ group: 'node.k8s.io', resource: 'runtimeclasses' }, 'crun'),
  ...named({ group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }, 'csr'),
  { group: 'certificates.k8s.io', ...sub('certificatesigningrequests', 'approval'), name: 'csr' },
  { group: 'certificates.k8s.io', ...sub('certificatesigningrequests', 'status'), name: 'csr' },
  { group: 'certificates.k8s.io', ...sub('certificatesigningrequests', 'nodeclient') },
  { group: 'certificates.k8s.io', ...sub('certificatesigningrequests', 'selfnodeclient') },
  ...named({ group: 'certificates.k8s.io', resource: 'clustertrustbundles' }, 'b'),
  { group: 'authentication.k8s.io', resource: 'tokenreviews' },
  { group: 'authentication.k8s.io', resource: 'selfsubjectreviews' },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
  { group: 'authorization.k8s.io', resource: 'localsubjectaccessreviews', ...here },
  { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' },
  ...named({ group: 'rbac.authorization.k8s.io', resource: 'clusterroles' }, 'cluster-admin'),
  ...named({ group: 'rbac.authorization.k8s.io', resource: 'rolebindings', ...here }, 'b'),
]

/** `secrets default/volume`, `pods spec.nodeName=n1` */
export function titleOf({ group, resource, subresource, namespace, name, fieldSelector }: Question): string {
  const what = `${resource}${subresource ? `/${subresource}` : ''}${group ? `.${group}` : ''}`
  const where = `${namespace ? `${namespace}/` : ''}${name ?? ''}`
  return [what, where, fieldSelector && `${fieldSelector.key}=${fieldSelector.value}`].filter(Boolean).join(' ')
}
