/** Objects of no namespace and namespaces themselves: nodes, volumes, reviews, requests for certificates. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { Base, JsonObject } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { mutate } from '../mutate.ts'
import { get, inSomeForm, patch, post, put, query, remove } from '../steps.ts'

interface Cluster extends Base {
  /** Subresources with what is written to them. */
  subresources: Readonly<Record<string, readonly JsonObject[]>>
  /** What a patch of the object itself may change. */
  changes: readonly JsonObject[]
}

const conditions = [
  { type: 'Ready', status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2020-01-01T00:00:00Z' },
]

const table: readonly Cluster[] = [
  {
    path: '/api/v1/nodes',
    body: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: '{{name}}', labels: { a: '1' } },
      spec: {
        podCIDR: '10.1.0.0/24',
        podCIDRs: ['10.1.0.0/24'],
        providerID: 'p://x',
        taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
        unschedulable: true,
      },
      status: { capacity: { cpu: '1', memory: '1Gi' }, conditions },
    },
    subresources: {
      status: [
        { status: { conditions } },
        { status: { capacity: { cpu: '2', 'example.com/x': '1' }, allocatable: { cpu: '2' } } },
        {
          status: {
            addresses: [
              { type: 'InternalIP', address: '1.2.3.4' },
              { type: 'InternalIP', address: '1.2.3.4' },
            ],
          },
        },
        { status: { nodeInfo: { kubeletVersion: 'v1' }, images: [{ names: ['a'], sizeBytes: 1 }] } },
        { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } },
        { metadata: { labels: { x: 'y' } }, spec: { unschedulable: false } },
        { status: { config: {} } },
        { status: { volumesInUse: ['a'], volumesAttached: [{ name: 'a', devicePath: 'b' }] } },
      ],
    },
    changes: [
      { spec: { taints: null } },
      { spec: { unschedulable: null } },
      { spec: { podCIDR: '10.2.0.0/24' } },
      { spec: { providerID: 'q' } },
      { spec: { podCIDR: null, podCIDRs: null } },
      { spec: { taints: [{ key: 'k', effect: 'x' }] } },
      {
        spec: {
          taints: [
            { key: 'k', effect: 'NoExecute' },
            { key: 'k', effect: 'NoExecute' },
          ],
        },
      },
      { spec: { externalID: 'x' } },
      { metadata: { labels: { x: 'y' } } },
      { status: { phase: 'x' } },
    ],
  },
  {
    path: '/api/v1/namespaces',
    body: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{{name}}', labels: { a: '1' } },
      spec: { finalizers: ['kubernetes'] },
    },
    subresources: {
      status: [
        { status: { phase: 'Terminating' } },
        { status: { conditions } },
        { status: { phase: 'x' } },
        { metadata: { labels: { x: 'y' } } },
      ],
      finalize: [
        { spec: { finalizers: [] } },
        { spec: { finalizers: ['example.com/a'] } },
        { spec: { finalizers: ['a'] } },
        {},
      ],
    },
    changes: [
      { metadata: { labels: { x: 'y' } } },
      { metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } } },
      { metadata: { labels: null } },
      { spec: { finalizers: [] } },
      { spec: { finalizers: ['example.com/a'] } },
      { metadata: { finalizers: ['example.com/a'] } },
      { status: { phase: 'Terminating' } },
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'x' } } },
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
    ],
  },
  {
    path: '/api/v1/persistentvolumes',
    body: {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: '{{name}}' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/x' },
        storageClassName: 's',
      },
    },
    subresources: { status: [{ status: { phase: 'Bound' } }, { status: { phase: 'x', message: 'm', reason: 'r' } }] },
    changes: [
      { spec: { capacity: { storage: '2Gi' } } },
      { spec: { claimRef: { name: 'c', namespace: 'n', uid: 'u' } } },
      { spec: { hostPath: { path: '/y' } } },
      { spec: { persistentVolumeReclaimPolicy: 'x' } },
      { spec: { volumeMode: 'Block' } },
      { spec: { nodeAffinity: { required: { nodeSelectorTerms: [{}] } } } },
      { spec: { volumeAttributesClassName: 'x' } },
    ],
  },
  {
    path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: '{{name}}' },
      spec: {
        signerName: 'example.com/s',
        usages: ['digital signature', 'client auth'],
        request:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIcU1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiakJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCTjF3eHc2NE1UNnhMRk9aClIxWWM5RllhN0Z5cDZYaHBWSVlUV3lzakNEY0hWZE5qVFQ3eG84TlZIYWVLRTdpRStYSWs4ZHJKNlk0ZUw3eDIKWFV6N1kzcWdBREFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUVBOHRaMVJSNlREN25wSHA3WUVoa3JPcm9tN0thUworeFQyYUhMK2pOdGEwbElDSUEyTUh1d3dud0srUW9rNzdQU2JEZUFwQkhMWU9YNjVRSUs4Z2dpZzVTMWsKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
      },
    },
    subresources: {
      approval: [
        { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'R' }] } },
        { status: { conditions: [{ type: 'Denied', status: 'True' }] } },
        { status: { conditions: [{ type: 'x', status: 'False' }] } },
        { status: { certificate: 'eA==' } },
      ],
      status: [
        { status: { certificate: 'eA==' } },
        { status: { conditions: [{ type: 'Failed', status: 'True' }] } },
        { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
      ],
    },
    changes: [{ spec: { usages: ['any'] } }, { metadata: { labels: { x: 'y' } } }],
  },
  {
    path: '/apis/apiregistration.k8s.io/v1/apiservices',
    body: {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.{{name}}.example.com' },
      spec: {
        group: '{{name}}.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { name: 's', namespace: 'n' },
      },
    },
    subresources: { status: [{ metadata: { labels: { x: 'y' } } }] },
    changes: [
      { spec: { groupPriorityMinimum: 0 } },
      { spec: { versionPriority: 2000 } },
      { spec: { caBundle: 'eA==' } },
      { spec: { service: { port: 0 } } },
      { metadata: { labels: { x: 'y' } } },
    ],
  },
  {
    path: '/apis/storage.k8s.io/v1/volumeattachments',
    body: {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: '{{name}}' },
      spec: { attacher: 'a.b', nodeName: 'n', source: { persistentVolumeName: 'p' } },
    },
    subresources: {
      status: [
        { status: { attached: true } },
        { status: { attached: false, attachError: { message: 'm', errorCode: 1 } } },
      ],
    },
    changes: [{ spec: { nodeName: 'm' } }, { metadata: { labels: { x: 'y' } } }],
  },
  {
    path: '/apis/networking.k8s.io/v1/servicecidrs',
    body: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: '{{name}}' },
      spec: { cidrs: ['10.200.0.0/24'] },
    },
    subresources: { status: [{ status: { conditions } }] },
    changes: [
      { spec: { cidrs: ['10.200.0.0/24', 'fd00::/64'] } },
      { spec: { cidrs: ['10.201.0.0/24'] } },
      { metadata: { labels: { x: 'y' } } },
    ],
  },
]

const reviews: readonly { path: string; bodies: readonly JsonObject[] }[] = [
  {
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    bodies: [
      { spec: { user: 'u', groups: ['g'], resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'n' } } },
      { spec: { user: 'u', nonResourceAttributes: { verb: 'get', path: '/healthz' } } },
      { spec: { groups: ['system:masters'], resourceAttributes: { verb: '*', resource: '*', group: '*' } } },
      {
        spec: {
          user: 'u',
          resourceAttributes: {
            fieldSelector: { rawSelector: 'a=b' },
            labelSelector: { requirements: [{ key: 'k', operator: 'In', values: ['v'] }] },
          },
        },
      },
      { spec: { user: 'u', resourceAttributes: {}, nonResourceAttributes: {} } },
      {},
    ],
  },
  {
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    bodies: [
      { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
      { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } },
      {},
    ],
  },
  {
    path: '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
    bodies: [
      { spec: { user: 'u', resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } } },
      { metadata: { namespace: 'x' }, spec: { user: 'u' } },
    ],
  },
  {
    path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    bodies: [{ spec: { namespace: 'default' } }, { spec: {} }],
  },
  {
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    bodies: [{ spec: { token: 'x' } }, { spec: { token: '', audiences: ['a'] } }, {}],
  },
  { path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', bodies: [{}, { metadata: { name: 'x' } }] },
]

const parameters = {
  dryRun: ['All', 'x'],
  fieldManager: ['f', 'g', ''],
  fieldValidation: ['Strict', 'Warn', 'Ignore'],
  pretty: ['true'],
}

export function makeCluster(random: Random): Case {
  return random.chance(0.2) ? makeReview(random) : makeObject(random)
}

function makeReview(random: Random): Case {
  const { path, bodies } = random.pick(reviews)
  const steps: Step[] = []
  for (let more = 3; more > 0; more--) {
    const body = structuredClone(random.pick(bodies))
    if (random.chance(0.6)) mutate(body, random)
    steps.push(inSomeForm(random, post(`${path}${query(random, parameters, 1)}`, body)))
  }
  return { kind: path.split('/').at(-1)!, operation: 'review', what: 'review', steps }
}

function makeObject(random: Random): Case {
  const chosen = random.pick(table)
  const { path, subresources, changes } = chosen
  const body = structuredClone(chosen.body)
  const what = random.chance(0.6) ? mutate(body, random) : 'as it is'
  if (random.chance(0.3)) mutate(body, random)
  const object = `${path}/${chosen.body.metadata.name}`
  const steps: Step[] = [post(`${path}?fieldManager=f`, body)]
  for (let more = 1 + random.below(5); more > 0; more--) {
    const names = Object.keys(subresources)
    const subresource = random.chance(0.5) ? random.pick(names) : undefined
    const changed = structuredClone(random.pick(subresource ? subresources[subresource]! : changes))
    if (random.chance(0.2)) mutate(changed, random)
    const at = `${object}${subresource ? `/${subresource}` : ''}${query(random, parameters, 1)}`
    steps.push(inSomeForm(random, writeOf(at, changed, chosen.body, random)))
  }
  if (random.chance(0.5)) steps.push(remove(object))
  steps.push(get(object))
  return { kind: chosen.body.kind, operation: 'cluster', what, steps }
}

function writeOf(at: string, changed: JsonObject, { apiVersion, kind, ...base }: Base['body'], random: Random): Step {
  const { metadata, spec } = base as { metadata: JsonObject; spec: JsonObject }
  const named = { ...changed, metadata: { ...metadata, ...(changed.metadata as JsonObject) } }
  switch (random.pick(['merge', 'merge', 'strategic', 'put', 'apply', 'get'] as const)) {
    case 'put':
      return put(at, { apiVersion, kind, ...named, spec: { ...spec, ...(changed.spec as JsonObject) } })
    case 'apply':
      return patch('apply', `${at}${at.includes('?') ? '&' : '?'}fieldManager=h&force=true`, {
        apiVersion,
        kind,
        ...changed,
      })
    case 'get':
      return get(at)
    case 'strategic':
      return patch('strategic', at, changed)
    default:
      return patch('merge', at, changed)
  }
}
