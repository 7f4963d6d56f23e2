/** Where two arrays or maps meet: what one of them alone does not show. Each is made of so many entries. */
import type { Request } from '../attack.ts'
import { times } from '../times.ts'
import type { Work } from './writes.ts'

type Json = Record<string, unknown>
export interface Situation {
  name: string
  work(size: number): Work
}

const core = '/api/v1/namespaces/default'
const pods = `${core}/pods`
const configMaps = `${core}/configmaps`
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const growths = '/apis/growth.example.com/v1/growths'
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

const map = (size: number, value: unknown = 'v'): Json => Object.fromEntries(times(size, (i) => [`k${i}`, value]))
const send =
  (method: string, type?: string) =>
  (path: string, body: object, headers?: Record<string, string>): Request => ({
    method,
    path,
    type,
    headers,
    body: JSON.stringify(body),
  })
const post = send('POST')
const put = send('PUT')
const patch = send('PATCH', 'application/merge-patch+json')
const jsonPatch = send('PATCH', 'application/json-patch+json')
const apply = (path: string, body: object): Request =>
  send('PATCH', 'application/apply-patch+yaml')(`${path}?fieldManager=growth&force=true`, body)
const remove = (path: string): Request => ({ method: 'DELETE', path, body: '{"gracePeriodSeconds":0}' })
const as = (user: string, group: string): Record<string, string> => ({
  'impersonate-user': user,
  'impersonate-group': group,
})

const meta = { name: 'large' }
const container = { name: 'a', image: 'a', terminationMessagePolicy: 'File' }
const containers = (size: number, more: (index: number) => object = () => ({})): object[] =>
  times(size, (i) => ({ ...container, name: `c${i}`, ...more(i) }))
const pod = (spec: object, metadata: object = {}): Json => ({
  metadata: { ...meta, ...metadata },
  spec: { containers: [container], ...spec },
})

const statusOf = ({ status }: Json): Json => ({ status })

/** An object is made in one form, and written in another. */
const changed = (
  name: string,
  path: string,
  form: (size: number, isNew: boolean) => Json,
  endpoint = '',
): Situation => ({
  name,
  work: (size) => ({
    before: [post(path, form(size, false))],
    measured: [put(`${path}/large${endpoint}`, form(size, true))],
    after: [remove(`${path}/large`), freed(path)],
  }),
})
const created = (
  name: string,
  path: string,
  form: (size: number) => Json,
  headers?: Record<string, string>,
): Situation => ({
  name,
  work: (size) => ({
    before: [],
    measured: [post(path, form(size), headers)],
    after: [remove(`${path}/large`)],
  }),
})
const freed = (path: string): Request => patch(`${path}/large`, { metadata: { finalizers: null } })

/** The first form in order, the second in reverse. */
const turned = <T>(isNew: boolean, items: T[]): T[] => (isNew ? items.toReversed() : items)

const podSituations: Situation[] = [
  changed('tolerations of a pod that is updated', pods, (size, isNew) =>
    pod({
      tolerations: turned(
        isNew,
        times(size, (i) => ({ key: `k${i}`, operator: 'Exists' })),
      ),
    }),
  ),
  changed('scheduling gates of a pod that is updated', pods, (size, isNew) =>
    pod({
      schedulingGates: turned(
        isNew,
        times(size, (i) => ({ name: `example.com/g${i}` })),
      ),
    }),
  ),
  {
    name: 'statuses of containers that have ended',
    work(size) {
      const state = (ended: boolean) => (ended ? { terminated: { exitCode: 0 } } : { running: {} })
      const statuses = (ended: boolean) => ({
        ...pod({ containers: containers(size), restartPolicy: 'Never' }),
        status: {
          containerStatuses: turned(
            !ended,
            times(size, (i) => ({
              name: `c${i}`,
              image: 'a',
              imageID: 'a',
              ready: false,
              restartCount: 0,
              state: state(ended),
            })),
          ),
        },
      })
      return {
        before: [post(pods, statuses(true)), patch(`${pods}/large/status`, statusOf(statuses(true)))],
        measured: [patch(`${pods}/large/status`, statusOf(statuses(false)))],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  {
    name: 'ephemeral containers, and one more',
    work(size) {
      const ephemeral = (count: number) => pod({ ephemeralContainers: containers(count) })
      const path = `${pods}/large/ephemeralcontainers`
      return {
        before: [post(pods, pod({})), put(path, ephemeral(size))],
        measured: [put(path, ephemeral(size + 1))],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  created('AppArmor profiles of containers', pods, (size) =>
    pod(
      { containers: containers(size) },
      {
        annotations: Object.fromEntries(
          times(size, (i) => [`container.apparmor.security.beta.kubernetes.io/c${size - i - 1}`, 'runtime/default']),
        ),
      },
    ),
  ),
  changed(
    'resources of containers that are resized',
    pods,
    (size, isNew) =>
      pod({
        containers: turned(
          isNew,
          containers(size, () => ({ resources: { requests: { cpu: isNew ? '2m' : '1m' } } })),
        ),
      }),
    '/resize',
  ),
  {
    name: 'readiness gates and conditions in a table',
    work(size) {
      const object = {
        ...pod({ readinessGates: times(size, (i) => ({ conditionType: `example.com/c${i}` })) }),
        status: { conditions: times(size, (i) => ({ type: `example.com/c${size - i}`, status: 'True' })) },
      }
      return {
        before: [post(pods, object), patch(`${pods}/large/status`, statusOf(object))],
        measured: [{ path: pods, headers: table }],
        after: [remove(`${pods}/large`)],
      }
    },
  },
  created('volumes and their mounts', pods, (size) =>
    pod({
      volumes: times(size, (i) => ({ name: `v${i}`, emptyDir: {} })),
      containers: [
        { ...container, volumeMounts: times(size, (i) => ({ name: `v${size - i - 1}`, mountPath: `/m${i}` })) },
      ],
    }),
  ),
  created('block volumes and their devices', pods, (size) =>
    pod({
      volumes: times(size, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: `c${i}` } })),
      containers: [
        { ...container, volumeDevices: times(size, (i) => ({ name: `v${size - i - 1}`, devicePath: `/d${i}` })) },
      ],
    }),
  ),
  created('resource claims of a pod and of its containers', pods, (size) =>
    pod({
      resourceClaims: times(size, (i) => ({ name: `r${i}`, resourceClaimName: 'a' })),
      containers: [{ ...container, resources: { claims: times(size, (i) => ({ name: `r${size - i - 1}` })) } }],
    }),
  ),
  created('keys of labels to match and not to match', pods, (size) => {
    const keys = times(size, (i) => `k${i}`)
    const labelSelector = { matchExpressions: keys.map((key) => ({ key: `a${key}`, operator: 'Exists' })) }
    const topologyKey = 'a'
    return pod({
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, matchLabelKeys: keys },
      ],
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey,
              labelSelector: {},
              matchLabelKeys: keys,
              mismatchLabelKeys: times(size, (i) => `m${i}`),
            },
          ],
        },
      },
    })
  }),
  {
    name: 'tolerations of a pod and of its runtime class',
    work(size) {
      const path = '/apis/node.k8s.io/v1/runtimeclasses'
      const tolerations = (letter: string) => times(size, (i) => ({ key: `${letter}${i}`, operator: 'Exists' }))
      return {
        before: [post(path, { metadata: meta, handler: 'a', scheduling: { tolerations: tolerations('a') } })],
        measured: [post(pods, pod({ runtimeClassName: 'large', tolerations: tolerations('b') }))],
        after: [remove(`${pods}/large`), remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'containers where a namespace enforces a pod security standard',
    work: (size) => ({
      before: [
        patch('/api/v1/namespaces/default', {
          metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
        }),
      ],
      measured: [
        post(
          pods,
          pod({ containers: containers(size, (i) => ({ ports: [{ containerPort: i + 1, hostPort: i + 1 }] })) }),
        ),
      ],
      after: [
        patch('/api/v1/namespaces/default', { metadata: { labels: { 'pod-security.kubernetes.io/enforce': null } } }),
        remove(`${pods}/large`),
      ],
    }),
  },
  {
    name: 'resources of a quota and of a pod',
    work(size) {
      const amounts = (prefix: string) => Object.fromEntries(times(size, (i) => [`${prefix}example.com/r${i}`, '1']))
      const quota = {
        metadata: meta,
        spec: { hard: amounts('requests.') },
        status: { hard: amounts('requests.'), used: amounts('requests.') },
      }
      const resources = { requests: amounts(''), limits: amounts('') }
      const path = `${core}/resourcequotas`
      return {
        before: [post(path, quota), patch(`${path}/large/status`, statusOf(quota))],
        measured: [post(pods, pod({ containers: [{ ...container, resources }] }))],
        after: [remove(`${path}/large`), remove(`${pods}/large`)],
      }
    },
  },
  {
    name: 'limits of a range, and of a container',
    work(size) {
      const path = `${core}/limitranges`
      const amounts = (amount: string, more = 0) =>
        Object.fromEntries(times(size, (i) => [`example.com/r${i + more}`, amount]))
      const limits = [{ type: 'Container', max: amounts('2'), min: amounts('1'), default: amounts('1', size / 2) }]
      const resources = { limits: amounts('1'), requests: amounts('1') }
      return {
        before: [post(path, { metadata: meta, spec: { limits } })],
        measured: [post(pods, pod({ containers: [{ ...container, resources }] }))],
        after: [remove(`${path}/large`), remove(`${pods}/large`)],
      }
    },
  },
]

const fieldSituations: Situation[] = [
  {
    name: 'finalizers of an object that is being deleted',
    work(size) {
      const object = (isNew: boolean) => ({
        metadata: {
          ...meta,
          finalizers: turned(
            isNew,
            times(size, (i) => `example.com/f${i}`),
          ),
        },
      })
      return {
        before: [post(configMaps, object(false)), remove(`${configMaps}/large`)],
        measured: [put(`${configMaps}/large`, object(true))],
        after: [freed(configMaps)],
      }
    },
  },
  ...(['Apply', 'Update'] as const).map(
    (operation): Situation => ({
      name: `fields that change, and entries of ${operation} in managedFields`,
      work(size) {
        const managedFields = times(size, (i) => ({
          manager: `m${i}`,
          operation,
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { [`f:o${i}`]: {} } },
        }))
        const object = { ...kept(configMap(map(size))), metadata: { ...meta, managedFields } }
        return {
          before: [post(configMaps, configMap({}))],
          measured: [
            put(`${configMaps}/large`, object),
            apply(`${configMaps}/large`, kept(configMap(map(size, 'w')))),
            apply(`${configMaps}/large`, kept(configMap({}))),
          ],
          after: [remove(`${configMaps}/large`)],
        }
      },
    }),
  ),
  {
    name: 'JSON patch: items that leave from the front, move and are copied',
    work(size) {
      const list = '/metadata/finalizers'
      const object = { metadata: { ...meta, finalizers: times(size, (i) => `example.com/f${i}`) } }
      const operations = (make: (index: number) => object) =>
        jsonPatch(`${configMaps}/large?dryRun=All`, times(size, make))
      return {
        before: [post(configMaps, object)],
        measured: [
          operations(() => ({ op: 'remove', path: `${list}/0` })),
          operations(() => ({ op: 'move', from: `${list}/0`, path: `${list}/-` })),
          operations((i) => ({ op: 'test', path: `${list}/${i}`, value: `example.com/f${i}` })),
          operations((i) => ({ op: 'copy', from: `${list}/${i}`, path: `/metadata/labels` })),
        ],
        after: [freed(configMaps), remove(`${configMaps}/large`)],
      }
    },
  },
]

const configMap = (data: object): Json => ({ metadata: meta, data })
const kept = (object: Json): Json => ({ apiVersion: 'v1', kind: 'ConfigMap', ...object })

const otherSituations: Situation[] = [
  created('claims and volumes of a StatefulSet', '/apis/apps/v1/namespaces/default/statefulsets', (size) => ({
    metadata: meta,
    spec: {
      serviceName: 'a',
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [container], volumes: times(size, (i) => ({ name: `v${i}`, emptyDir: {} })) },
      },
      volumeClaimTemplates: times(size, (i) => ({
        metadata: { name: `c${i}` },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
      })),
    },
  })),
  {
    name: 'addresses of an Ingress that is updated',
    work(size) {
      const path = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
      const object = (isNew: boolean) => ({
        metadata: meta,
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
        status: {
          loadBalancer: {
            ingress: turned(
              isNew,
              times(size, (i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })),
            ),
          },
        },
      })
      return {
        before: [post(path, object(false)), patch(`${path}/large/status`, statusOf(object(false)))],
        measured: [patch(`${path}/large/status`, statusOf(object(true)))],
        after: [remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'conditions of a certificate signing request',
    work(size) {
      const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
      const conditions = times(size, (i) => ({ type: `C${i}`, status: 'True' }))
      const object = (isNew: boolean) => ({
        metadata: meta,
        spec: { request: signingRequest, signerName: 'example.com/a', usages: ['client auth'] },
        status: { conditions: turned(isNew, conditions) },
      })
      return {
        before: [post(path, object(false)), patch(`${path}/large/status`, statusOf(object(false)))],
        measured: [patch(`${path}/large/status`, statusOf(object(true)))],
        after: [remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'rules that a user holds and grants',
    work(size) {
      const rbac = '/apis/rbac.authorization.k8s.io/v1'
      const rules = times(size, (i) => ({ apiGroups: [''], resources: [`r${i}`], verbs: ['get'] }))
      const own = [
        ...rules,
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] },
      ]
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'own' }
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'granter' }]
      const granted = { metadata: meta, rules: rules.toReversed() }
      return {
        before: [
          post(`${rbac}/clusterroles`, { metadata: { name: 'own' }, rules: own }),
          post(`${rbac}/clusterrolebindings`, { metadata: { name: 'own' }, roleRef, subjects }),
        ],
        measured: [post(`${rbac}/clusterroles`, granted, as('granter', 'system:authenticated'))],
        after: ['clusterroles/large', 'clusterroles/own', 'clusterrolebindings/own'].map((one) =>
          remove(`${rbac}/${one}`),
        ),
      }
    },
  },
  {
    name: 'labels and taints of a node, from its kubelet',
    work(size) {
      const node = (isNew: boolean) => ({
        metadata: {
          ...meta,
          labels: Object.fromEntries(
            turned(
              isNew,
              times(size, (i) => [`a.example.com/k${i}`, 'v']),
            ),
          ),
        },
        spec: {
          taints: turned(
            isNew,
            times(size, (i) => ({ key: `k${i}`, effect: 'NoSchedule' })),
          ),
        },
      })
      const kubelet = as('system:node:large', 'system:nodes')
      return {
        before: [post('/api/v1/nodes', node(false))],
        measured: [put('/api/v1/nodes/large', node(true), kubelet)],
        after: [remove('/api/v1/nodes/large')],
      }
    },
  },
]

/** The public key of an RSA certificate authority without a private key; it only has to be readable. */
const signingRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTVRiZFFoY3k0blV1emJyb2RJRUdsYmh0UytlOXdhVjNSVXViajlsOHhsR2FhUS9VOEQxWnFlTWNhdUVPRUxqCmpOT3pocHc5QzByZ3hlYWFXM2JzSFFPZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUFpZURFTXorRkh5ZUwKbVYvRExYaTErTmZvcy9lZ000by8vTEUxWmxpUlJBZ0NJUUNESmIzQ0swaTh2YmpNSW5ncWkvdUVXaVZiMHgxUQpIOVdTazlOcEZOcEcydz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo='

const string = { type: 'string' }
const item = (more: object = {}): object => ({
  type: 'object',
  required: ['name'],
  properties: {
    name: string,
    value: { 'x-kubernetes-int-or-string': true },
    defaulted: { type: 'string', default: 'd' },
  },
  ...more,
})
const listMap = (items: object): object => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const ruled = { 'x-kubernetes-validations': [{ rule: "self.name != 'x'" }] }
const transition = { 'x-kubernetes-validations': [{ rule: 'self.name == oldSelf.name' }] }

/** Properties of a custom resource: each shape that a list or map can have. */
const shapes: Record<string, object> = {
  keyed: listMap(item()),
  ruled: listMap(item(ruled)),
  kept: listMap(item(transition)),
  set: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
  numbers: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
  atomic: { type: 'array', items: item(), 'x-kubernetes-list-type': 'atomic' },
  nested: { type: 'array', items: { type: 'object', properties: { inner: listMap(item()) } } },
  texts: { type: 'object', additionalProperties: string },
  objects: { type: 'object', additionalProperties: item(ruled) },
  atoms: { type: 'object', additionalProperties: string, 'x-kubernetes-map-type': 'atomic' },
  anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  either: { type: 'array', items: { 'x-kubernetes-int-or-string': true } },
  chosen: {
    type: 'array',
    items: { type: 'object', properties: { a: string, b: string }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  },
}
const items = (size: number): object[] => times(size, (i) => ({ name: `n${i}`, value: i }))
/** Values that the shapes take, and others that they refuse entry by entry. */
const values: Record<keyof typeof shapes, (size: number) => unknown> = {
  keyed: items,
  ruled: items,
  kept: items,
  set: (size) => times(size, (i) => `s${i}`),
  numbers: (size) => times(size, (i) => i),
  atomic: items,
  nested: (size) => [{ inner: items(size) }],
  texts: (size) => map(size),
  objects: (size) => map(size, { name: 'n' }),
  atoms: (size) => map(size),
  anything: (size) => map(size, { a: [1] }),
  either: (size) => times(size, (i) => (i % 2 ? i : `s${i}`)),
  chosen: (size) => times(size, (i) => ({ [i % 2 ? 'a' : 'b']: 'v' })),
}
const wrong: Partial<Record<keyof typeof shapes, (size: number) => unknown>> = {
  keyed: (size) => times(size, () => ({ name: 'n' })),
  ruled: (size) => times(size, (i) => ({ name: i % 2 ? 'x' : 'n' })),
  set: (size) => times(size, (i) => i),
  numbers: (size) => times(size, () => 1),
  texts: (size) => map(size, 1),
  objects: (size) => map(size, { name: 1 }),
  chosen: (size) => times(size, () => ({})),
}

/** To be there before the situations with custom resources. */
export const growthDefinition = (): Request =>
  post(crds, definitionOf('growths', { type: 'object', properties: { spec: { type: 'object', properties: shapes } } }))

function definitionOf(
  plural: string,
  openAPIV3Schema: object,
  kind = plural[0]!.toUpperCase() + plural.slice(1, -1),
): Json {
  return {
    metadata: { name: `${plural}.growth.example.com` },
    spec: {
      group: 'growth.example.com',
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}
const custom = (spec: object): Json => ({
  apiVersion: 'growth.example.com/v1',
  kind: 'Growth',
  metadata: meta,
  spec,
})

const customSituations: Situation[] = Object.keys(shapes).flatMap((shape): Situation[] => {
  const of = (size: number, isNew: boolean) => {
    const value = values[shape]!(size)
    const turnedValue = Array.isArray(value) ? turned(isNew, value) : value
    return custom({ [shape]: turnedValue, atoms: { isNew: `${isNew}` } })
  }
  const refused = wrong[shape]
  return [
    {
      name: `custom resource: ${shape}, patched and applied`,
      work: (size) => ({
        before: [post(growths, of(size, false))],
        measured: [
          patch(`${growths}/large`, of(size, true)),
          apply(`${growths}/large`, of(size, false)),
          apply(`${growths}/large`, custom({})),
        ],
        after: [remove(`${growths}/large`)],
      }),
    },
    ...(refused
      ? [created(`custom resource: ${shape}, refused`, growths, (size) => custom({ [shape]: refused(size) }))]
      : []),
  ]
})

/** Values to choose from, and items that chose another. */
const choice: Situation = {
  name: 'custom resource: values to choose from, refused',
  work(size) {
    const options = { type: 'array', items: { ...string, enum: times(size, (i) => `e${i}`) } }
    const schema = { type: 'object', properties: { spec: { type: 'object', properties: { options } } } }
    const object = {
      apiVersion: 'growth.example.com/v1',
      kind: 'Choice',
      metadata: meta,
      spec: { options: times(size, (i) => `f${i}`) },
    }
    return {
      before: [post(crds, definitionOf('choices', schema, 'Choice'))],
      measured: [post('/apis/growth.example.com/v1/choices', object)],
      after: [remove(`${crds}/choices.growth.example.com`)],
    }
  },
}

const definitionSituations: Situation[] = [
  ['properties', (size: number) => ({ properties: map(size, string) })],
  [
    'properties with rules',
    (size: number) => ({
      properties: map(size, { ...string, maxLength: 9, 'x-kubernetes-validations': [{ rule: 'true' }] }),
    }),
  ],
  [
    'properties that are wrong, and rules',
    (size: number) => ({
      properties: map(size, {
        ...string,
        nullable: true,
        default: 1,
        'x-kubernetes-validations': [{ rule: 'self ==' }],
      }),
    }),
  ],
  ['required properties', (size: number) => ({ properties: map(size, string), required: times(size, (i) => `k${i}`) })],
  [
    'keys of a list',
    (size: number) => ({
      properties: {
        a: {
          type: 'array',
          items: { type: 'object', properties: map(size, string), required: times(size, (i) => `k${size - i - 1}`) },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': times(size, (i) => `k${i}`),
        },
      },
    }),
  ],
].map(([name, schema]): Situation => {
  const form = schema as (size: number) => object
  return {
    name: `definition: ${name}`,
    work: (size) => ({
      before: [],
      measured: [
        post(
          `${crds}?dryRun=All`,
          definitionOf('larges', { type: 'object', properties: { spec: { type: 'object', ...form(size) } } }),
        ),
      ],
      after: [],
    }),
  }
})

export const situations: Situation[] = [
  ...podSituations,
  ...fieldSituations,
  ...otherSituations,
  ...customSituations,
  choice,
  ...definitionSituations,
]
