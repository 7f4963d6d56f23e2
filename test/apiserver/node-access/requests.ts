/** Requests of node n1 that admission decides: all are dry runs, so that none depends on another. */
import { createSigningRequest } from '../../../shared/pki/signing-request.ts'
import { pod } from './world.ts'

export interface NodeRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /** `{uid:<path>}` stands for the uid of the object there. */
  body?: object
}

const core = '/api/v1/namespaces/default'
const merge = (path: string, body: object): NodeRequest => ({ method: 'PATCH', path, body })
const post = (path: string, body: object): NodeRequest => ({ method: 'POST', path, body })
const remove = (path: string): NodeRequest => ({ method: 'DELETE', path })

const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: '{uid:/api/v1/nodes/n1}', controller: true }
const mirrorMetadata = (owners: object[] = [owner]) => ({
  annotations: { 'kubernetes.io/config.mirror': 'x' },
  ownerReferences: owners,
})
const mirror = (spec: object, metadata: object = {}): NodeRequest =>
  post(
    `${core}/pods`,
    pod(
      'mirror',
      { nodeName: 'n1', serviceAccountName: undefined, automountServiceAccountToken: undefined, ...spec },
      { ...mirrorMetadata(), ...metadata },
    ),
  )
const withVolume = (volume: object): NodeRequest => mirror({ volumes: [{ name: 'v', ...volume }] })
const withEnv = (env: object, container = 'containers'): NodeRequest => {
  const main = { name: 'main', image: 'tool' }
  return mirror({
    containers: [main],
    [container]: [{ ...main, ...(container !== 'containers' && { name: 'extra' }), ...env }],
  })
}
const projected = (source: object): NodeRequest => withVolume({ projected: { sources: [source] } })
const ownedBy = (...owners: object[]): NodeRequest => mirror({}, mirrorMetadata(owners))

const mirrors: Record<string, NodeRequest> = {
  'mirror pod': mirror({}),
  'pod that is no mirror pod': mirror({}, { annotations: {} }),
  'mirror pod of another node': mirror({ nodeName: 'n2' }),
  'mirror pod of no node': mirror({ nodeName: undefined }),
  'mirror pod without an owner': mirror({}, mirrorMetadata([])),
  'mirror pod with two owners': ownedBy(owner, { ...owner, uid: 'x', controller: false }),
  'mirror pod of another owner': ownedBy({ ...owner, name: 'n2' }),
  'mirror pod owned by a pod': ownedBy({ ...owner, kind: 'Pod' }),
  'mirror pod whose owner has another uid': ownedBy({ ...owner, uid: 'x' }),
  'mirror pod whose owner is no controller': ownedBy({ ...owner, controller: undefined }),
  'mirror pod whose owner blocks deletion': ownedBy({ ...owner, blockOwnerDeletion: true }),
  'mirror pod with a service account': mirror({ serviceAccountName: 'robot' }),
  'mirror pod with a pull secret': mirror({ imagePullSecrets: [{ name: 'unused' }] }),
  'mirror pod with a variable from a secret': withEnv({
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'unused', key: 'k' } } }],
  }),
  'mirror pod with variables from a secret': withEnv({ envFrom: [{ secretRef: { name: 'unused' } }] }),
  'mirror pod whose init container reads a secret': withEnv(
    { envFrom: [{ secretRef: { name: 'unused' } }] },
    'initContainers',
  ),
  'mirror pod with a variable from a config map': withEnv({
    env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'unused', key: 'k' } } }],
  }),
  'mirror pod with variables from a config map': withEnv({ envFrom: [{ configMapRef: { name: 'unused' } }] }),
  'mirror pod with a variable from itself': withEnv({
    env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
  }),
  'mirror pod with a secret volume': withVolume({ secret: { secretName: 'unused' } }),
  'mirror pod with a config map volume': withVolume({ configMap: { name: 'unused' } }),
  'mirror pod with a projected secret': projected({ secret: { name: 'unused' } }),
  'mirror pod with a projected config map': projected({ configMap: { name: 'unused' } }),
  'mirror pod with a projected token': projected({ serviceAccountToken: { path: 'token' } }),
  'mirror pod with a projected field': projected({
    downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] },
  }),
  'mirror pod with a claim': withVolume({ persistentVolumeClaim: { claimName: 'data' } }),
  'mirror pod with an ephemeral claim': withVolume({
    ephemeral: {
      volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    },
  }),
  'mirror pod with an inline CSI volume': withVolume({ csi: { driver: 'driver' } }),
  'mirror pod with azureFile': withVolume({ azureFile: { secretName: 'unused', shareName: 's' } }),
  'mirror pod with glusterfs': withVolume({ glusterfs: { endpoints: 'web', path: 'p' } }),
  'mirror pod with hostPath': withVolume({ hostPath: { path: '/tmp' } }),
  'mirror pod with emptyDir': withVolume({ emptyDir: {} }),
  'mirror pod with downwardAPI': withVolume({ downwardAPI: {} }),
  'mirror pod with a device': mirror({ resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] }),
}

const pods: Record<string, NodeRequest> = {
  'delete an own pod': remove(`${core}/pods/spare`),
  "delete another node's pod": remove(`${core}/pods/theirs`),
  'delete a pod of no node': remove(`${core}/pods/pending`),
  'delete a pod that is gone': remove(`${core}/pods/gone`),
  'update an own pod': merge(`${core}/pods/mine`, { metadata: { labels: { a: 'b' } } }),
  'status of an own pod': merge(`${core}/pods/spare/status`, { status: { phase: 'Running' } }),
  "status of another node's pod": merge(`${core}/pods/theirs/status`, { status: { phase: 'Running' } }),
  'status of a pod of no node': merge(`${core}/pods/pending/status`, { status: { phase: 'Running' } }),
  'status of a pod that is gone': merge(`${core}/pods/gone/status`, { status: { phase: 'Running' } }),
  'labels through the status of an own pod': merge(`${core}/pods/spare/status`, { metadata: { labels: { a: 'b' } } }),
  'annotations through the status of an own pod': merge(`${core}/pods/spare/status`, {
    metadata: { annotations: { a: 'b' } },
  }),
  'resource claims in the status of an own pod': merge(`${core}/pods/mine/status`, {
    status: { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'unused' }] },
  }),
  'evict an own pod': post(`${core}/pods/spare/eviction`, eviction('spare')),
  "evict another node's pod": post(`${core}/pods/theirs/eviction`, eviction('theirs')),
  'evict a pod of no node': post(`${core}/pods/pending/eviction`, eviction('pending')),
  'evict a pod that is gone': post(`${core}/pods/gone/eviction`, eviction('gone')),
  'ephemeral container in an own pod': merge(`${core}/pods/spare/ephemeralcontainers`, {
    spec: { ephemeralContainers: [{ name: 'e', image: 'tool', envFrom: [{ secretRef: { name: 'unused' } }] }] },
  }),
}

function eviction(name: string): object {
  return { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
}

const node = (name: string, rest: object = {}, labels: object = {}) =>
  post('/api/v1/nodes', { metadata: { name, labels }, ...rest })
const label = (key: string, name = 'n1') => merge(`/api/v1/nodes/${name}`, { metadata: { labels: { [key]: 'x' } } })
const taints = [{ key: 'a', effect: 'NoSchedule' }]

const nodes: Record<string, NodeRequest> = {
  'create another node': node('n3'),
  'create the own node again': node('n1'),
  'create the own node with a node-restriction label': node('n1', {}, { 'node-restriction.kubernetes.io/a': 'b' }),
  'create the own node with a role': node('n1', {}, { 'node-role.kubernetes.io/control-plane': '' }),
  'create the own node with a taint': node('n1', { spec: { taints } }),
  'create a node with a generated name': post('/api/v1/nodes', { metadata: { generateName: 'n1' } }),
  'label the own node': label('team'),
  'label the own node with a zone': label('topology.kubernetes.io/zone'),
  'label the own node with a host name': label('kubernetes.io/hostname'),
  'label the own node for kubelets': label('kubelet.kubernetes.io/a'),
  'label the own node for nodes': label('node.kubernetes.io/a'),
  'label the own node below nodes': label('x.node.kubernetes.io/a'),
  'label the own node with a role': label('node-role.kubernetes.io/worker'),
  'label the own node as kubernetes.io': label('kubernetes.io/a'),
  'label the own node as k8s.io': label('x.k8s.io/a'),
  'label the own node with a node restriction': label('node-restriction.kubernetes.io/a'),
  'label the own node below node restriction': label('x.node-restriction.kubernetes.io/a'),
  'label another node': label('team', 'n2'),
  'taint the own node': merge('/api/v1/nodes/n1', { spec: { taints } }),
  'cordon the own node': merge('/api/v1/nodes/n1', { spec: { unschedulable: true } }),
  'own the own node': merge('/api/v1/nodes/n1', {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] },
  }),
  'config source of the own node': merge('/api/v1/nodes/n1', {
    spec: { configSource: { configMap: { namespace: 'default', name: 'unused', kubeletConfigKey: 'k' } } },
  }),
  'status of the own node': merge('/api/v1/nodes/n1/status', { status: { phase: 'Running' } }),
  'status of another node': merge('/api/v1/nodes/n2/status', { status: { phase: 'Running' } }),
  'label through the status of the own node': merge('/api/v1/nodes/n1/status', {
    metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } },
  }),
  'delete the own node': remove('/api/v1/nodes/n1'),
}

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const csiNodes = '/apis/storage.k8s.io/v1/csinodes'
const slices = '/apis/resource.k8s.io/v1/resourceslices'
const slice = (spec: object) =>
  post(slices, {
    metadata: { name: 'slice' },
    spec: { driver: 'gpu.example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, ...spec },
  })
const claim = `${core}/persistentvolumeclaims/data`

const objects: Record<string, NodeRequest> = {
  'create a lease of another node': post(leases, { metadata: { name: 'n3' } }),
  'create the own lease again': post(leases, { metadata: { name: 'n1' } }),
  'create a lease with a generated name': post(leases, { metadata: { generateName: 'n' } }),
  'create a lease elsewhere': post('/apis/coordination.k8s.io/v1/namespaces/default/leases', {
    metadata: { name: 'n1' },
  }),
  'renew the own lease': merge(`${leases}/n1`, { spec: { holderIdentity: 'n1' } }),
  'renew the lease of another node': merge(`${leases}/n2`, { spec: { holderIdentity: 'n1' } }),
  'delete the own lease': remove(`${leases}/n1`),
  'create a CSINode of another node': post(csiNodes, { metadata: { name: 'n3' }, spec: { drivers: [] } }),
  'create the own CSINode again': post(csiNodes, { metadata: { name: 'n1' }, spec: { drivers: [] } }),
  'label the own CSINode': merge(`${csiNodes}/n1`, { metadata: { labels: { a: 'b' } } }),
  'delete the own CSINode': remove(`${csiNodes}/n1`),
  'create a slice of the own node': slice({ nodeName: 'n1' }),
  'create a slice of another node': slice({ nodeName: 'n2' }),
  'create a slice of all nodes': slice({ allNodes: true }),
  'delete the own slice': remove(`${slices}/slice-n1`),
  "delete another node's slice": remove(`${slices}/slice-n2`),
  'delete the own slices': remove(`${slices}?fieldSelector=spec.nodeName%3Dn1`),
  'delete all slices': remove(slices),
  'capacity of an own claim': merge(`${claim}/status`, { status: { capacity: { storage: '2Gi' } } }),
  'condition of an own claim': merge(`${claim}/status`, {
    status: { conditions: [{ type: 'FileSystemResizePending', status: 'True' }] },
  }),
  'phase of an own claim': merge(`${claim}/status`, { status: { phase: 'Lost' } }),
  'label through the status of an own claim': merge(`${claim}/status`, { metadata: { labels: { a: 'b' } } }),
  'update an own claim': merge(claim, { metadata: { labels: { a: 'b' } } }),
  'create an event': post(`${core}/events`, {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'theirs' },
  }),
}

const mine = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: `{uid:${core}/pods/mine}` }
const theirs = { ...mine, name: 'theirs', uid: `{uid:${core}/pods/theirs}` }
const token = (boundObjectRef: object | undefined, audiences: string[] = [], account = 'robot') =>
  post(`${core}/serviceaccounts/${account}/token`, { spec: { audiences, boundObjectRef } })

const tokens: Record<string, NodeRequest> = {
  'token for a projected audience': token(mine, ['vault']),
  'token for the audience of a CSI driver': token(mine, ['csi-audience']),
  'token for an audience that no volume names': token(mine, ['other']),
  'token for the default audience': token(mine),
  'token for an audience of a pod without volumes': token({ ...mine, name: 'spare', uid: `{uid:${core}/pods/spare}` }, [
    'vault',
  ]),
  'token for two audiences': token(mine, ['vault', 'csi-audience']),
  'token bound to nothing': token(undefined, ['vault']),
  'token bound to a secret': token({ apiVersion: 'v1', kind: 'Secret', name: 'volume', uid: 'x' }, ['vault']),
  'token bound to the own node': token({ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: owner.uid }, ['vault']),
  'token bound to a pod without its uid': token({ ...mine, uid: undefined }, ['vault']),
  'token bound to a pod with another uid': token({ ...mine, uid: 'x' }, ['vault']),
  'token bound to a pod that is gone': token({ ...mine, name: 'gone' }, ['vault']),
  "token bound to another node's pod": token(theirs, ['vault']),
  "token of another node's service account": token(theirs, [], 'stranger'),
}

const csr = (signerName: string, commonName: string, server = false, altNames?: string[]) =>
  post('/apis/certificates.k8s.io/v1/certificatesigningrequests', {
    metadata: { name: 'csr' },
    spec: {
      signerName,
      usages: ['digital signature', server ? 'server auth' : 'client auth'],
      request: Buffer.from(
        createSigningRequest({ commonName, organizations: ['system:nodes'], altNames }).request,
      ).toString('base64'),
    },
  })
const serving = (commonName: string) => csr('kubernetes.io/kubelet-serving', commonName, true, ['n1'])

const secretsWhere = (selector: string): NodeRequest => ({
  method: 'GET',
  path: `${core}/secrets?fieldSelector=${encodeURIComponent(selector)}`,
})

const selections: Record<string, NodeRequest> = {
  'list one secret by its name': secretsWhere('metadata.name=volume'),
  'list one secret by its name and type': secretsWhere('type!=x,metadata.name=volume'),
  'list secrets by a name within a value': secretsWhere('type!=x\\,metadata.name=volume'),
  'list all secrets but one': secretsWhere('metadata.name!=volume'),
  'list the pods of the own node by a node within a value': {
    method: 'GET',
    path: `/api/v1/pods?fieldSelector=${encodeURIComponent('metadata.name!=x\\,spec.nodeName=n1')}`,
  },
}

const certificates: Record<string, NodeRequest> = {
  'client certificate of the own name': csr('kubernetes.io/kube-apiserver-client-kubelet', 'system:node:n1'),
  'client certificate of another node': csr('kubernetes.io/kube-apiserver-client-kubelet', 'system:node:n2'),
  'serving certificate of the own name': serving('system:node:n1'),
  'serving certificate of another node': serving('system:node:n2'),
  'client certificate of a user': csr('kubernetes.io/kube-apiserver-client', 'jane'),
}

export const requests: Readonly<Record<string, NodeRequest>> = {
  ...mirrors,
  ...pods,
  ...nodes,
  ...objects,
  ...tokens,
  ...certificates,
  ...selections,
}
