/** What exists before node n1 tries everything: a pod of its own that names much, and the same of node n2. */
import type { KubeObject } from '../../../shared/api/types.ts'

export interface Fixture {
  /** Path of the collection. */
  path: string
  object: Partial<KubeObject>
}

const core = '/api/v1/namespaces/default'
const meta = (name: string) => ({ metadata: { name } })
const container = { name: 'main', image: 'tool' }

const of = (path: string, names: readonly string[], rest: object = {}): Fixture[] =>
  names.map((name) => ({ path, object: { ...meta(name), ...rest } }))

export const secrets = [
  'volume',
  'projected',
  'env',
  'env-from',
  'init',
  'pull',
  'csi',
  'cephfs',
  'disk-node',
  'disk-controller',
  'theirs',
  'unused',
]
export const configMaps = ['volume', 'projected', 'env', 'env-from', 'theirs', 'unused']

const env = (kind: 'secret' | 'configMap') => ({
  env: [{ name: kind, valueFrom: { [`${kind}KeyRef`]: { name: 'env', key: 'k' } } }],
  envFrom: [{ [`${kind}Ref`]: { name: 'env-from' } }],
})

export const pod = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { serviceAccountName: 'robot', automountServiceAccountToken: false, containers: [container], ...spec },
})

const naming = {
  nodeName: 'n1',
  imagePullSecrets: [{ name: 'pull' }],
  initContainers: [{ ...container, name: 'init', envFrom: [{ secretRef: { name: 'init' } }] }],
  containers: [
    { ...container, name: 'a', ...env('secret'), resources: { claims: [{ name: 'gpu' }] } },
    { ...container, name: 'b', ...env('configMap') },
  ],
  resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }],
  volumes: [
    { name: 's', secret: { secretName: 'volume' } },
    { name: 'c', configMap: { name: 'volume' } },
    { name: 'p', projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }] } },
    { name: 'token', projected: { sources: [{ serviceAccountToken: { audience: 'vault', path: 'token' } }] } },
    { name: 'csi', csi: { driver: 'driver', nodePublishSecretRef: { name: 'csi' } } },
    { name: 'ceph', cephfs: { monitors: ['m'], secretRef: { name: 'cephfs' } } },
    { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claimSpec() } } },
  ],
}

function claimSpec(): object {
  return { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
}

const disk = (name: string, claim: string) => ({
  ...meta(name),
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    claimRef: { namespace: 'default', name: claim },
    csi: {
      driver: 'driver',
      volumeHandle: name,
      nodePublishSecretRef: { namespace: 'default', name: `${name}-node` },
      controllerPublishSecretRef: { namespace: 'default', name: `${name}-controller` },
    },
  },
})

const slice = (node: string) => ({
  ...meta(`slice-${node}`),
  spec: { driver: 'gpu.example.com', nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 } },
})

const nodes = ['n1', 'n2']
const tolerant = { tolerations: [{ operator: 'Exists' }] }

export const world: readonly Fixture[] = [
  ...of('/api/v1/namespaces', ['default', 'kube-node-lease', 'elsewhere']),
  ...of('/api/v1/nodes', nodes),
  ...of(`${core}/serviceaccounts`, ['default', 'robot', 'stranger']),
  ...of(`${core}/secrets`, secrets),
  ...of('/api/v1/namespaces/elsewhere/secrets', ['volume']),
  ...of(`${core}/configmaps`, configMaps),
  ...of(`${core}/services`, ['web'], { spec: { ports: [{ port: 80 }] } }),
  ...of(`${core}/endpoints`, ['web']),
  ...of(`${core}/persistentvolumeclaims`, ['unused'], { spec: claimSpec() }),
  ...of(`${core}/persistentvolumeclaims`, ['data'], { spec: { ...claimSpec(), volumeName: 'disk' } }),
  ...['disk', 'spare'].map((name) => ({
    path: '/api/v1/persistentvolumes',
    object: disk(name, name === 'disk' ? 'data' : 'unused'),
  })),
  ...of('/apis/storage.k8s.io/v1/csidrivers', ['driver'], { spec: { tokenRequests: [{ audience: 'csi-audience' }] } }),
  ...nodes.flatMap((name) => of('/apis/storage.k8s.io/v1/csinodes', [name], { spec: { drivers: [] } })),
  ...nodes.map((nodeName) => ({
    path: '/apis/storage.k8s.io/v1/volumeattachments',
    object: {
      ...meta(`at-${nodeName}`),
      spec: { attacher: 'driver', nodeName, source: { persistentVolumeName: 'disk' } },
    },
  })),
  ...of('/apis/resource.k8s.io/v1/namespaces/default/resourceclaims', ['gpu', 'unused'], {
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
  }),
  ...nodes.map((node) => ({ path: '/apis/resource.k8s.io/v1/resourceslices', object: slice(node) })),
  ...of('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', nodes),
  ...of('/apis/node.k8s.io/v1/runtimeclasses', ['crun'], { handler: 'crun' }),
  { path: `${core}/pods`, object: pod('mine', { ...naming, ...tolerant }) },
  { path: `${core}/pods`, object: pod('spare', { nodeName: 'n1', ...tolerant }) },
  {
    path: `${core}/pods`,
    object: pod('theirs', {
      nodeName: 'n2',
      ...tolerant,
      serviceAccountName: 'stranger',
      volumes: [
        { name: 's', secret: { secretName: 'theirs' } },
        { name: 'c', configMap: { name: 'theirs' } },
      ],
    }),
  },
  {
    path: `${core}/pods`,
    object: pod('pending', {
      nodeSelector: { nowhere: 'true' },
      volumes: [{ name: 's', secret: { secretName: 'unused' } }],
    }),
  },
]
