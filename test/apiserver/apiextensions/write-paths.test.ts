/** Every way to write a custom resource holds it against the rules of its schema, from the root on. */
import t from 'tap'
import type { KubeObject, Status } from '../../../shared/api/types.ts'
import { type Received, startTestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'

const server = await startTestApiServer(t)
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'writes.example.com'
const gauges = `/apis/${group}/v1/namespaces/default/gauges`
const message = ({ body }: Received): string => (body as Status).message ?? ''
const send = (method: string, path: string, body: object, type = 'application/json'): Promise<Received> =>
  server.send(path, { method, body, headers: { 'content-type': type } })
const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

const integer = { type: 'integer' }
const level = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, n: integer } }
const keyed = (items: object) => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const defined = await send('POST', definitions, {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `gauges.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'gauges', kind: 'Gauge' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  n: integer,
                  replicas: integer,
                  anchor: {
                    type: 'object',
                    properties: {
                      place: {
                        type: 'string',
                        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the place stays' }],
                      },
                    },
                    'x-kubernetes-map-type': 'atomic',
                  },
                },
                'x-kubernetes-validations': [
                  {
                    rule: '!has(self.replicas) || !has(oldSelf.replicas) || self.replicas >= oldSelf.replicas',
                    message: 'replicas never shrink',
                  },
                ],
              },
              status: {
                type: 'object',
                properties: {
                  n: integer,
                  replicas: integer,
                  levels: keyed(level),
                },
              },
            },
            'x-kubernetes-validations': [
              {
                rule: '!has(self.status) || !has(self.status.n) || self.status.n == self.spec.n',
                message: 'status.n must be spec.n',
              },
              {
                rule: '!has(oldSelf.status) || !has(oldSelf.status.n) || has(self.status) && self.status.n >= oldSelf.status.n',
                message: 'status.n never falls',
              },
            ],
          },
        },
      },
    ],
  },
})
await until(async () => (await server.send(gauges)).status === 200, { what: 'the gauges to be served' })
const gauge = (name: string, rest: object): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Gauge',
  metadata: { name },
  ...rest,
})
const first = await send('POST', gauges, gauge('g', { spec: { n: 1, replicas: 3 } }))
const status = `${gauges}/g/status`

t.test('the definition and an object are accepted', async (t) => {
  t.equal(defined.status, 201, message(defined))
  t.equal(first.status, 201, message(first))
})

t.test('a rule at the root is checked on each way to write the status', async (t) => {
  const stored = (await server.send(`${gauges}/g`)).body as KubeObject
  const wrong = { status: { n: 2 } }
  for (const refused of [
    await send('PUT', status, { ...stored, ...wrong }),
    await send('PATCH', status, wrong, MERGE),
    await send('PATCH', status, [{ op: 'add', path: '/status', value: { n: 2 } }], 'application/json-patch+json'),
    await send('PATCH', `${status}?fieldManager=me`, gauge('g', wrong), APPLY),
  ]) {
    t.equal(refused.status, 422)
    t.match(message(refused), 'status.n must be spec.n')
  }
  t.equal((await send('PATCH', status, { status: { n: 1 } }, MERGE)).status, 200)
})

t.test('a rule on old values at the root is checked on writes of the status', async (t) => {
  const refused = await send('PATCH', status, { status: null }, MERGE)
  t.equal(refused.status, 422)
  t.match(message(refused), 'status.n never falls')
})

t.test('rules on old values are checked on writes of the scale', async (t) => {
  const scale = `${gauges}/g/scale`
  const refused = await send('PATCH', scale, { spec: { replicas: 2 } }, MERGE)
  t.equal(refused.status, 422)
  t.match(message(refused), 'replicas never shrink')
  t.equal((await send('PATCH', scale, { spec: { replicas: 4 } }, MERGE)).status, 200)
})

t.test('counts and unique items of the status are checked where the status is written', async (t) => {
  const negative = await send('PATCH', status, { status: { replicas: -1 } }, MERGE)
  t.match(message(negative), '.status.replicas: Invalid value: -1: should be a non-negative integer')
  const twice = await send('PATCH', status, { status: { levels: [{ name: 'a' }, { name: 'a' }] } }, MERGE)
  t.match(message(twice), 'status.levels[1]: Duplicate value: {"name":"a"}')
})

t.test('an item without its key under a status that is dropped does not fail a create', async (t) => {
  const made = await send('POST', gauges, gauge('keyless', { spec: { n: 1 }, status: { levels: [{ n: 1 }] } }))
  t.equal(made.status, 201)
  t.equal((made.body as KubeObject).metadata.managedFields, undefined)
  t.equal((made.body as KubeObject).status, undefined)
})

t.test('a field of an atomic object is compared with its old value', async (t) => {
  const anchored = (place: string): object => ({ spec: { anchor: { place } } })
  t.equal((await send('PATCH', `${gauges}/g`, anchored('here'), MERGE)).status, 200)
  const refused = await send('PATCH', `${gauges}/g`, anchored('there'), MERGE)
  t.match(message(refused), 'spec.anchor.place: Invalid value: "there": the place stays')
})

t.test('a status that is taken away is none; what an apply leaves empty or sends as null is null', async (t) => {
  const as = '?fieldManager=me'
  const applied = (path: string, body: object): Promise<Received> => send('PATCH', path, gauge('a', body), APPLY)
  const refused = async (path: string, body: object, where: string): Promise<void> => {
    const answer = await applied(path, body)
    t.equal(answer.status, 422)
    t.match(message(answer), `${where} in body must be of type object: "null"`)
  }
  t.equal((await applied(`${gauges}/a${as}`, { spec: { n: 1, anchor: { place: 'here' } } })).status, 201)
  t.equal((await applied(`${gauges}/a/status${as}`, { status: { replicas: 1 } })).status, 200)
  await refused(`${gauges}/a/status${as}`, { status: {} }, 'status: Invalid value: "null": ')
  await refused(`${gauges}/a${as}`, { spec: {} }, 'spec: Invalid value: "null": spec')
  await refused(`${gauges}/a${as}`, { spec: { n: 1, anchor: null } }, 'spec.anchor: Invalid value: "null": spec.anchor')
  t.equal((await send('PATCH', `${gauges}/a/status`, { status: null }, MERGE)).status, 200)
  t.equal((await applied(`${gauges}/a/status${as}`, {})).status, 200)
})

t.test('discovery names the group and the version of a custom kind, as upstream', async (t) => {
  const accept = 'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io'
  const { body } = await server.send('/apis', { headers: { accept } })
  const { items } = body as { items: { metadata: { name: string } }[] }
  const kind = { group, version: 'v1', kind: 'Gauge' }
  t.match(
    items.find(({ metadata }) => metadata.name === group),
    {
      versions: [
        {
          resources: [
            {
              responseKind: kind,
              subresources: [
                { subresource: 'status', responseKind: kind },
                { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' } },
              ],
            },
          ],
        },
      ],
    },
  )
})
