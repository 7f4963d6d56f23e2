/** Requests that are small or plain to write, and laborious to answer. */
import type { Attack, Request } from '../attack.ts'
import { times } from '../times.ts'
import { emptyMessages, envelope, podMessage, varint } from './wire.ts'

const core = '/api/v1/namespaces/default'
const configMaps = `${core}/configmaps?dryRun=All`
const pods = `${core}/pods?dryRun=All`
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const apply = 'application/apply-patch+yaml'
const jsonPatch = 'application/json-patch+json'
const mergePatch = 'application/merge-patch+json'
const strategicPatch = 'application/strategic-merge-patch+json'
const yaml = 'application/yaml'
const protobuf = 'application/vnd.kubernetes.protobuf'

const words = times(1_000, (i) => `w${i}`)
const map = (count: number, value: unknown = '1'): object => Object.fromEntries(times(count, (i) => [`k${i}`, value]))
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth)

/** A POST as an administrator, which stores nothing. */
const post = (path: string, body: string | Buffer | object, type?: string): Request => ({
  method: 'POST',
  path,
  type,
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
})
const patch = (path: string, type: string, body: string | object): Request => ({
  ...post(path, body, type),
  method: 'PATCH',
})
const configMap = (rest: object): object => ({ metadata: { name: 'x' }, ...rest })
const pod = (container: object, spec: object = {}): object => ({
  metadata: { name: 'x' },
  spec: { containers: [{ name: 'a', image: 'a', ...container }], ...spec },
})
const once = (make: () => Request) => (): Request[] => [make()]

/** A message within a message within …; its bytes are made from the inside. */
function deepMessage(depth: number, number: number): Buffer {
  const parts: Buffer[] = []
  let length = 0
  for (let level = 0; level < depth; level++) {
    const head = Buffer.from([...varint(number * 8 + 2), ...varint(length)])
    parts.push(head)
    length += head.length
  }
  return Buffer.concat(parts.reverse())
}

/** Bytes of YAML and JSON are read, checked and compared; one request is answered in one go. */
const perByte = { nsPerByte: 4_000, bystanderMs: 1_000 }
const ok = [200, 201]
const refused = [400, 403, 405, 413, 415, 422, 431]
const either = [...ok, ...refused]

const documents: Attack[] = [
  {
    name: 'YAML: aliases of aliases',
    requests: once(() =>
      post(
        configMaps,
        [
          'a0: &a0 [x,x,x,x,x,x,x,x,x]',
          ...times(40, (i) => `a${i + 1}: &a${i + 1} [${times(9, () => `*a${i}`)}]`),
        ].join('\n'),
        yaml,
      ),
    ),
    answers: refused,
  },
  {
    name: 'YAML: merges of merges',
    requests: once(() =>
      post(
        configMaps,
        [`m0: &m0 {${times(2_000, (i) => `k${i}: v`)}}`, ...times(3_000, (i) => `m${i + 1}: {<<: *m0, x${i}: 1}`)].join(
          '\n',
        ),
        yaml,
      ),
    ),
    answers: either,
  },
  {
    name: 'YAML: one list of many merges',
    requests: once(() =>
      post(configMaps, `m0: &m0 {${times(1_000, (i) => `k${i}: v`)}}\nx: {<<: [${times(20_000, () => '*m0')}]}`, yaml),
    ),
    answers: either,
  },
  {
    name: 'YAML: deep, in brackets',
    requests: once(() => post(configMaps, `a: ${nested(500_000, '[', ']')}`, yaml)),
    answers: refused,
  },
  {
    name: 'YAML: deep, by indentation',
    requests: once(() => post(configMaps, times(1_500, (i) => `${' '.repeat(i)}a:`).join('\n'), yaml)),
    answers: refused,
  },
  {
    name: 'YAML: dashes',
    requests: once(() => post(configMaps, `a:\n${'- '.repeat(300_000)}`, yaml)),
    answers: refused,
  },
  {
    name: 'YAML: question marks',
    requests: once(() => post(configMaps, '? '.repeat(300_000), yaml)),
    answers: refused,
  },
  {
    name: 'YAML: many anchors',
    requests: once(() => post(configMaps, `data:\n${times(30_000, (i) => `  k${i}: &a${i} v\n`).join('')}`, yaml)),
    answers: either,
  },
  {
    name: 'YAML: one key many times',
    requests: once(() => post(configMaps, 'a: b\n'.repeat(100_000), yaml)),
    answers: either,
  },
  {
    name: 'YAML: a number of many digits',
    requests: once(() => post(configMaps, `data:\n  a: ${'7'.repeat(1_000_000)}`, yaml)),
    answers: either,
  },
  {
    name: 'YAML: many documents',
    requests: once(() => post(configMaps, '---\na: b\n'.repeat(50_000), yaml)),
    answers: either,
  },
  {
    name: 'JSON: deep lists',
    requests: once(() => post(configMaps, `{"data":${nested(1_000_000, '[', ']')}}`)),
    answers: refused,
  },
  {
    name: 'JSON: deep objects',
    requests: once(() => post(configMaps, `{"data":${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}}`)),
    answers: refused,
  },
  {
    name: 'JSON: one key many times',
    requests: once(() => post(configMaps, `{${times(150_000, () => '"a":1')}}`)),
    answers: either,
  },
  {
    name: 'JSON: many unknown fields',
    requests: once(() => post(`${configMaps}&fieldValidation=Strict`, configMap(map(40_000)))),
    answers: refused,
  },
  {
    name: 'JSON: many unknown fields, of which the client is warned',
    requests: once(() => post(`${configMaps}&fieldValidation=Warn`, configMap(map(40_000)))),
    // Node's client takes no more than 128 fields of a head.
    answers: [...either, 0],
  },
  {
    name: 'JSON: a number of many digits',
    requests: once(() => post(pods, `{"metadata":{"name":"x","generation":${'7'.repeat(2_000_000)}}}`)),
    answers: refused,
  },
  {
    name: 'JSON: many numbers of many digits',
    requests: once(() =>
      post(
        pods,
        `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"a","ports":[${times(40_000, () => '{"containerPort":99999999999999999999}')}]}]}}`,
      ),
    ),
    answers: refused,
  },
  {
    name: 'JSON: escapes',
    requests: once(() => post(configMaps, `{"metadata":{"name":"x"},"data":{"a":"${'\\u0041'.repeat(150_000)}"}}`)),
    answers: ok,
  },
  {
    name: 'protobuf: many empty messages',
    requests: once(() => post(pods, podMessage(emptyMessages(2, 2_800_000)), protobuf)),
    answers: [413],
  },
  {
    name: 'protobuf: deep messages',
    requests: once(() =>
      post(
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All`,
        envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', deepMessage(300_000, 2)),
        protobuf,
      ),
    ),
    answers: refused,
  },
  {
    name: 'protobuf: lengths that lie',
    requests: once(() => post(pods, envelope('v1', 'Pod', Buffer.alloc(1_000_000, 0xff)), protobuf)),
    answers: refused,
  },
]

const objects: Attack[] = [
  {
    name: 'a pod of 12,000 empty containers',
    requests: once(() => post(pods, { metadata: { name: 'x' }, spec: { containers: times(12_000, () => ({})) } })),
    answers: [422],
    budget: { nsPerByte: 120_000 },
  },
  {
    name: 'a role of 16,000 empty rules',
    requests: once(() =>
      post('/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All', {
        metadata: { name: 'x' },
        rules: times(16_000, () => ({})),
      }),
    ),
    answers: [422],
    budget: { nsPerByte: 40_000 },
  },
  {
    name: 'a role of three long lists, from a user who may grant none of it',
    requests: once(() => ({
      ...post(`${rbac}/clusterroles?dryRun=All`, {
        metadata: { name: 'x' },
        rules: [{ apiGroups: words, resources: words, resourceNames: words, verbs: ['get'] }],
      }),
      headers: { 'impersonate-user': 'granter' },
    })),
    answers: [403],
  },
  {
    name: 'a name of a megabyte',
    requests: once(() => post(configMaps, { metadata: { name: 'a-'.repeat(500_000) } })),
    answers: [422],
  },
  {
    name: 'a name of a megabyte, in the path',
    requests: once(() => ({ path: `${core}/configmaps/${'a-'.repeat(30_000)}` })),
    answers: [...refused, 404, 0],
  },
  {
    name: 'labels: many, and of any form',
    requests: once(() =>
      post(configMaps, { metadata: { name: 'x', labels: map(20_000, '-'), annotations: map(20_000) } }),
    ),
    answers: [422],
    budget: { nsPerByte: 8_000 },
  },
  {
    name: 'names that almost fit their pattern',
    requests: once(() =>
      post(configMaps, {
        metadata: {
          name: 'x',
          labels: { [`${'a.'.repeat(200_000)}/`]: `${'a'.repeat(300_000)}-` },
          generateName: 'x',
          finalizers: [`${'a-'.repeat(100_000)}.`],
        },
      }),
    ),
    answers: [422],
  },
  {
    name: 'an image of which every part is a mistake',
    requests: once(() =>
      post(
        pods,
        pod({
          image: `${'a/'.repeat(200_000)}@`,
          command: times(50_000, () => '$(A)$(B'),
          env: times(5_000, (i) => ({ name: `a${i}`, value: '$('.repeat(20) })),
        }),
      ),
    ),
    answers: either,
  },
  {
    name: 'quantities of many digits',
    requests: once(() =>
      post(
        pods,
        pod({
          resources: {
            limits: { memory: `${'9'.repeat(200_000)}.${'9'.repeat(200_000)}`, cpu: `1e${'9'.repeat(200_000)}` },
          },
        }),
      ),
    ),
    answers: refused,
  },
  {
    name: 'tolerations, volumes and mounts that each know the other',
    requests: once(() =>
      post(
        pods,
        pod(
          { volumeMounts: times(8_000, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })) },
          {
            volumes: times(8_000, (i) => ({ name: `v${i}`, emptyDir: {} })),
            tolerations: times(8_000, (i) => ({ key: `k${i}`, operator: 'Exists' })),
          },
        ),
      ),
    ),
    answers: either,
    budget: { nsPerByte: 5_000 },
  },
  {
    name: 'a request for a certificate that is none',
    requests: () =>
      times(5, () =>
        post('/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All', {
          metadata: { name: 'x' },
          spec: {
            signerName: 'a.b/c',
            usages: ['client auth'],
            request: Buffer.from(
              `-----BEGIN CERTIFICATE REQUEST-----\n${'MIIC\n'.repeat(60_000)}-----END CERTIFICATE REQUEST-----\n`,
            ).toString('base64'),
          },
        }),
      ),
    answers: either,
  },
]

const inConfigMap = `${core}/configmaps/budgets?dryRun=All`
const inPod = `${core}/pods/budgets?dryRun=All`

/** What patches and selectors work on. */
export const objectsToAttack: Request[] = [
  post(`${rbac}/clusterroles`, {
    metadata: { name: 'budgets' },
    rules: [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] }],
  }),
  post(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'budgets' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'budgets' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'granter' }],
  }),
  post(`${core}/configmaps`, { metadata: { name: 'budgets' }, data: { a: 'x'.repeat(300_000), ...map(10_000) } }),
  post(`${core}/pods`, {
    metadata: { name: 'budgets', finalizers: times(3_000, (i) => `a.b/f${i}`) },
    spec: { containers: [{ name: 'a', image: 'a', env: times(3_000, (i) => ({ name: `e${i}` })) }] },
  }),
  ...times(50, (i) => post(`${core}/configmaps`, { metadata: { name: `listed-${i}`, labels: { a: `v${i}` } } })),
]

const patches: Attack[] = [
  {
    name: 'JSON patch: copies of copies',
    requests: once(() =>
      patch(
        inConfigMap,
        jsonPatch,
        times(60, (i) => ({ op: 'copy', from: '/data', path: `/data/x${i}` })),
      ),
    ),
    answers: refused,
    budget: { msPerRequest: 400 },
  },
  {
    name: 'JSON patch: tests of one large value',
    requests: once(() =>
      patch(
        inConfigMap,
        jsonPatch,
        times(10_000, () => ({ op: 'test', path: '/data', value: { a: 'b' } })),
      ),
    ),
    answers: refused,
  },
  {
    name: 'JSON patch: entries at the front of a list',
    requests: once(() =>
      patch(
        inPod,
        jsonPatch,
        times(9_900, () => ({ op: 'add', path: '/metadata/finalizers/0', value: 'a.b/c' })),
      ),
    ),
    answers: either,
  },
  {
    name: 'JSON patch: a path of many steps',
    requests: once(() => patch(inConfigMap, jsonPatch, [{ op: 'add', path: '/a'.repeat(300_000), value: 1 }])),
    answers: refused,
  },
  {
    name: 'merge patch: deep',
    requests: once(() => patch(inConfigMap, mergePatch, `${'{"data":'.repeat(100_000)}1${'}'.repeat(100_000)}`)),
    answers: refused,
  },
  {
    name: 'merge patch: many nulls',
    requests: once(() => patch(inConfigMap, mergePatch, { data: map(90_000, null) })),
    answers: ok,
  },
  {
    name: 'strategic patch: lists merged by their keys',
    requests: once(() =>
      patch(inPod, strategicPatch, {
        spec: {
          containers: [{ name: 'a', env: times(15_000, (i) => ({ name: `e${i}`, value: 'v' })) }],
          tolerations: times(10_000, (i) => ({ key: `k${i}`, operator: 'Exists' })),
        },
      }),
    ),
    answers: either,
    budget: { nsPerByte: 5_000 },
  },
  {
    name: 'strategic patch: deletions and orders',
    requests: once(() =>
      patch(inPod, strategicPatch, {
        metadata: {
          '$deleteFromPrimitiveList/finalizers': times(20_000, (i) => `a.b/f${i}`),
          '$setElementOrder/finalizers': times(20_000, (i) => `a.b/f${i}`),
        },
        spec: {
          '$setElementOrder/containers': times(20_000, (i) => ({ name: `c${i}` })),
          containers: times(10_000, (i) => ({ name: `c${i}`, $patch: 'delete' })),
        },
      }),
    ),
    answers: either,
    budget: { nsPerByte: 5_000 },
  },
  {
    name: 'apply: lists of many keys',
    requests: once(() =>
      patch(`${inPod}&fieldManager=budgets&force=true`, apply, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'budgets', finalizers: times(10_000, (i) => `a.b/f${i}`) },
        spec: { containers: [{ name: 'a', image: 'a', env: times(15_000, (i) => ({ name: `e${i}`, value: 'v' })) }] },
      }),
    ),
    answers: either,
    budget: { nsPerByte: 8_000 },
  },
  {
    name: 'apply: keys that stand twice',
    requests: once(() =>
      patch(`${inPod}&fieldManager=budgets&force=true`, apply, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'budgets' },
        spec: { containers: times(16_000, () => ({ name: 'a', image: 'a' })) },
      }),
    ),
    // A real server answers so as well.
    answers: [...refused, 500],
    budget: { nsPerByte: 5_000 },
  },
  {
    name: 'managed fields that are made up',
    requests: once(() =>
      post(configMaps, {
        metadata: {
          name: 'x',
          managedFields: times(2_000, (i) => ({
            manager: `m${i}`,
            operation: 'Update',
            apiVersion: 'v1',
            time: '2026-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { '.': {}, [`f:k${i}`]: {} } },
          })),
        },
      }),
    ),
    answers: either,
    budget: { nsPerByte: 8_000 },
  },
]

const queries: Attack[] = [
  {
    name: 'selectors of many requirements',
    requests: () => times(10, () => ({ path: `${core}/configmaps?labelSelector=${times(6_000, (i) => `k${i}!=v`)}` })),
    answers: either,
    // Each of them is asked of each object.
    budget: { nsPerByte: 20_000, bystanderMs: 1_000 },
  },
  {
    name: 'selectors of many values',
    requests: () =>
      times(10, () => ({ path: `${core}/configmaps?labelSelector=a+in+(${times(8_000, (i) => `v${i}`)})` })),
    answers: either,
    budget: { nsPerByte: 4_000, msPerRequest: 10 },
  },
  {
    name: 'field selectors of many terms',
    requests: () =>
      times(10, () => ({ path: `${core}/pods?fieldSelector=${times(1_500, (i) => `spec.nodeName!%3Dn${i}`)}` })),
    answers: either,
    budget: { nsPerByte: 4_000, msPerRequest: 10 },
  },
  {
    name: 'selectors that are none',
    requests: () => times(10, () => ({ path: `${core}/configmaps?labelSelector=${'(((,'.repeat(12_000)}` })),
    answers: refused,
  },
  {
    name: 'queries of many parameters',
    requests: () => times(10, () => ({ path: `${core}/configmaps?${'a=&'.repeat(18_000)}` })),
    answers: either,
    budget: { msPerRequest: 5 },
  },
  {
    name: 'queries of percent signs',
    requests: () => times(10, () => ({ path: `${core}/configmaps?a=${'%41'.repeat(18_000)}` })),
    answers: either,
    budget: { msPerRequest: 5 },
  },
  {
    name: 'tokens to go on that are made up',
    requests: () =>
      times(10, (i) => ({
        path: `${core}/configmaps?limit=1&continue=${Buffer.from(`{"v":"meta.k8s.io/v1","rv":${i},"start":"${'\\u0041'.repeat(7_000)}"}`).toString('base64url')}`,
      })),
    answers: [...either, 410],
    budget: { msPerRequest: 5 },
  },
  {
    name: 'media types: many to choose from',
    requests: () =>
      times(50, () => ({
        path: `${core}/configmaps`,
        headers: { accept: times(3_000, (i) => `a/b${i};q=0.${i}`).join(',') },
      })),
    answers: [...either, 406],
    budget: { nsPerByte: 1_500 },
  },
  {
    name: 'bearer tokens that are none',
    by: 'anonymous',
    requests: () =>
      times(100, () => ({
        path: `${core}/configmaps`,
        headers: { authorization: `Bearer ${'a'.repeat(20_000)}.${'b'.repeat(20_000)}.${'c'.repeat(10_000)}` },
      })),
    answers: [401],
  },
  {
    name: 'impersonation with many groups',
    requests: () =>
      times(10, () => ({
        path: `${core}/configmaps`,
        headers: { 'impersonate-user': 'x', 'impersonate-group': 'g'.repeat(60_000) },
      })),
    answers: [200, 403],
    budget: { msPerRequest: 5 },
  },
]

export const requests: Attack[] = [
  ...documents.map((attack) => ({ ...attack, budget: { ...perByte, ...attack.budget } })),
  ...objects.map((attack) => ({ ...attack, budget: { ...perByte, ...attack.budget } })),
  ...patches.map((attack) => ({ ...attack, budget: { ...perByte, ...attack.budget } })),
  ...queries,
].map((attack) => ({ by: 'admin', ...attack }))
