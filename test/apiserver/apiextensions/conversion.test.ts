import t from 'tap'
import type { KubeObject, Status } from '../../../shared/api/types.ts'
import { type Received, startTestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'
import { startWebhookServer } from '../../harness/webhook-server.ts'

const server = await startTestApiServer(t)
const hooks = await startWebhookServer(t)
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'ships.example.com'
const shipsOf = (version: string) => `/apis/${group}/${version}/namespaces/default/ships`
const message = ({ body }: Received): string => (body as Status).message ?? ''
const post = (path: string, body: object): Promise<Received> => server.send(path, { method: 'POST', body })
const apply = (path: string, body: object): Promise<Received> =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/apply-patch+yaml' } })
const merge = (path: string, body: object): Promise<Received> =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

interface ConversionRequest {
  uid: string
  desiredAPIVersion: string
  objects: (KubeObject & { spec?: Record<string, unknown> })[]
}
type Review = Record<string, unknown>
const requestOf = (review: Review) => review.request as ConversionRequest

/** v1 says `size: 3x4`, v2 `length` and `width`. Field management also asks about objects without what was owned. */
function converted({ spec, ...object }: ConversionRequest['objects'][number], apiVersion: string) {
  const { size, length, width, ...rest } = spec ?? {}
  const [l, w] = String(size).split('x').map(Number)
  const joined = length === undefined ? {} : { size: `${length}x${width}` }
  const dimensions = apiVersion.endsWith('v1') ? joined : size === undefined ? {} : { length: l, width: w }
  const metadata = { ...object.metadata, labels: { ...object.metadata.labels, converted: 'yes' } }
  return { ...object, apiVersion, metadata, spec: { ...rest, ...dimensions } }
}
const answered = (review: Review, response: object = {}) => {
  const { uid, desiredAPIVersion, objects } = requestOf(review)
  const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion))
  return {
    apiVersion: review.apiVersion,
    kind: review.kind,
    response: { uid, result: { status: 'Success' }, convertedObjects, ...response },
  }
}
hooks.answers.set('/convert', (review) => answered(review))
const asked = (): ConversionRequest[] => (hooks.reviews.get('/convert') ?? []).map(requestOf)

const schema = (properties: object) => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { ...properties, flag: { type: 'string' } } } },
  },
})
const integer = { type: 'integer' }
const webhook = (path: string) => ({
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: hooks.clientConfig(path) },
})
/** v2 is stored. */
const version = (name: string, properties: object) => ({
  name,
  served: true,
  storage: name === 'v2',
  schema: schema(properties),
})
const define = (kind: string, versions: object[], conversion?: object): Promise<Received> => {
  const plural = `${kind.toLowerCase()}s`
  return post(definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: { plural, kind }, versions, conversion },
  })
}
const inV1 = version('v1', { size: { type: 'string' } })
const made = await define(
  'Ship',
  [inV1, version('v2', { length: integer, width: integer, crew: { ...integer, default: 7 } })],
  webhook('/convert'),
)
await until(async () => (await server.send(shipsOf('v1'))).status === 200, { what: 'the ships to be served' })
const ship = (name: string, version: string, spec: object) => ({
  apiVersion: `${group}/${version}`,
  kind: 'Ship',
  metadata: { name },
  spec,
})

t.test('the definition is taken', async (t) => {
  t.equal(made.status, 201)
  t.equal(made.headers.warning, undefined)
})

t.test('an object is what its version says, whichever it came through', async (t) => {
  const created = await post(shipsOf('v1'), ship('a', 'v1', { size: '3x4', flag: 'red' }))
  t.match(created, { status: 201, body: { apiVersion: `${group}/v1`, spec: { size: '3x4', flag: 'red' } } })
  t.match((await server.send(`${shipsOf('v2')}/a`)).body, {
    apiVersion: `${group}/v2`,
    metadata: { labels: { converted: 'yes' } },
    spec: { length: 3, width: 4, flag: 'red', crew: 7 },
  })
  await post(shipsOf('v2'), ship('b', 'v2', { length: 5, width: 6 }))
  t.match((await server.send(shipsOf('v1'))).body, { items: [{ spec: { size: '3x4' } }, { spec: { size: '5x6' } }] })
  const before = asked().length
  await server.send(shipsOf('v1'))
  t.equal(asked().length, before, 'a read waits for nobody')
  t.match(asked()[0], {
    desiredAPIVersion: `${group}/v2`,
    objects: [{ apiVersion: `${group}/v1`, kind: 'Ship', metadata: { name: 'a', uid: String } }],
  })
  t.match((await merge(`${shipsOf('v1')}/b`, { spec: { size: '7x8' } })).body, { spec: { size: '7x8' } })
  t.match((await server.send(`${shipsOf('v2')}/b`)).body, { spec: { length: 7, width: 8 } })
  const applied = await apply(`${shipsOf('v1')}/c?fieldManager=me`, ship('c', 'v1', { size: '1x2' }))
  t.match(applied, { status: 201, body: { spec: { size: '1x2' } } })
  t.match((await server.send(`${shipsOf('v1')}/c?dryRun=All`, { method: 'DELETE' })).status, 200)
  t.match((await server.send(`${shipsOf('v1')}/c`, { method: 'DELETE' })).status, 200)
})

t.test('an apply is refused where an owner wrote in a version that is no more', async (t) => {
  const versions = ['v1', 'v2'].map((name) => version(name, {}))
  await define('Boat', versions)
  const boats = (name: string) => shipsOf(name).replace(/ships$/, 'boats')
  const boat = (name: string) => ({ apiVersion: `${group}/${name}`, kind: 'Boat', metadata: { name: 'b' }, spec: {} })
  await until(async () => (await server.send(boats('v1'))).status === 200, { what: 'the boats to be served' })
  t.equal((await post(boats('v1'), { ...boat('v1'), spec: { flag: 'red' } })).status, 201)
  await merge(`${definitions}/boats.${group}`, { spec: { versions: versions.slice(1) } })
  await until(async () => (await server.send(boats('v1'))).status === 404, { what: 'the version to go' })
  const applied = await apply(`${boats('v2')}/b?fieldManager=me`, boat('v2'))
  const message = `request to convert CR to an invalid group/version: ${group}/v1`
  t.match(applied, { status: 500, body: { message } })
})

t.test('fields that are owned in one version are found in the other by the webhook', async (t) => {
  const tugs = (version: string) => shipsOf(version).replace(/ships$/, 'tugs')
  await define('Tug', [inV1, version('v2', { length: integer, width: integer })], webhook('/convert'))
  await until(async () => (await server.send(tugs('v1'))).status === 200, { what: 'the tugs to be served' })
  const applyTug = (manager: string, version: string, spec: object): Promise<Received> => {
    const tug = { apiVersion: `${group}/${version}`, kind: 'Tug', metadata: { name: 't' }, spec }
    return apply(`${tugs(version)}/t?fieldManager=${manager}`, tug)
  }
  t.equal((await applyTug('captain', 'v1', { size: '3x4', flag: 'red' })).status, 201)
  t.match(await applyTug('mate', 'v2', { length: 5, width: 4 }), {
    status: 409,
    body: {
      message: 'Apply failed with 1 conflict: conflict with "captain": .spec.size',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.size' }] },
    },
  })
  const again = await applyTug('captain', 'v2', { length: 3, width: 4 })
  const owner = { manager: 'captain', apiVersion: `${group}/v2` }
  t.match(again, { status: 200, body: { metadata: { managedFields: [owner] } } })
  t.same((again.body as { spec: object }).spec, { length: 3, width: 4 }, 'the flag is nobody’s any more')

  await applyTug('captain', 'v1', { size: '3x4', flag: 'red' })
  const patched = await merge(`${tugs('v2')}/t?fieldManager=mate`, { spec: { length: 9 } })
  const owners = (patched.body as KubeObject).metadata.managedFields as { manager: string; fieldsV1: object }[]
  t.match(
    owners.map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
    [
      ['captain', { 'f:spec': { 'f:flag': {} } }],
      ['mate', { 'f:spec': { 'f:length': {} } }],
    ],
  )
  t.notMatch(owners[0], { fieldsV1: { 'f:spec': { 'f:size': {} } } })

  hooks.answers.set('/convert', (review) => answered(review, { result: { status: 'Failure', message: 'not today' } }))
  t.match(await applyTug('mate', 'v2', { length: 9 }), { status: 500, body: { message: /failed: not today$/ } })
  const unowned = await merge(`${tugs('v2')}/t?fieldManager=mate`, { spec: { length: 10 } })
  t.equal(unowned.status, 200)
  t.notOk((unowned.body as KubeObject).metadata.managedFields, 'no write fails for its owners')
  hooks.answers.set('/convert', (review) => answered(review))
})

t.test('watchers hear in their version', async (t) => {
  const session = server.session()
  const stream = session.request({ ':path': `${shipsOf('v1')}?watch=true&resourceVersion=0` })
  t.teardown(() => stream.close())
  let text = ''
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  await post(shipsOf('v2'), ship('seen', 'v2', { length: 9, width: 9 }))
  await until(() => text.includes('9x9'), { what: 'the event' })
  t.notMatch(text, '"length"')
})

t.test('a webhook that does not convert', async (t) => {
  const cases: [name: string, answer: (review: Review) => object, why: string][] = [
    ['refuses', (review) => answered(review, { result: { status: 'Failure', message: 'too big' } }), 'failed: too big'],
    ['silent', (review) => answered(review, { result: {} }), `failed: response.result.status was '', not 'Success'`],
    ['other-uid', (review) => answered(review, { uid: 'x' }), 'failed: expected response.uid="'],
    ['too-few', (review) => answered(review, { convertedObjects: [] }), 'returned 0 objects, expected 1'],
    [
      'as-it-was',
      (review) => answered(review, { convertedObjects: requestOf(review).objects }),
      `returned invalid object at index 0: invalid groupVersion (expected ${group}/v2, received ${group}/v1)`,
    ],
    [
      'renames',
      (review) =>
        answered(review, {
          convertedObjects: [{ ...requestOf(review).objects[0], apiVersion: `${group}/v2`, metadata: { name: 'y' } }],
        }),
      'returned invalid object: must have the same name: x != y',
    ],
    [
      'no-review',
      () => ({ kind: 'Other', apiVersion: 'v1' }),
      'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got v1, Kind=Other',
    ],
  ]
  t.teardown(() => hooks.answers.set('/convert', (review) => answered(review)))
  for (const [name, answer, why] of cases) {
    await t.test(name, async (t) => {
      hooks.answers.set('/convert', (review) => answer(review) as Record<string, unknown>)
      const refused = await post(shipsOf('v1'), ship('x', 'v1', { size: '1x1' }))
      t.equal(refused.status, 500)
      t.match(message(refused), `conversion webhook for ${group}/v1, Kind=Ship ${why}`)
    })
  }
})

t.test('without its webhook only the stored version is there, and with it all is', async (t) => {
  await merge(`${definitions}/ships.${group}`, {
    spec: { conversion: { webhook: { clientConfig: { url: 'https://127.0.0.1:1/x' } } } },
  })
  const down = `conversion webhook for ${group}/v2, Kind=Ship`
  await until(async () => message(await server.send(`${shipsOf('v1')}/a`)).includes(down), {
    what: 'the webhook to be away',
  })
  t.match(
    message(await server.send(shipsOf('v1'))),
    'failed: Post "https://127.0.0.1:1/x?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused',
  )
  t.equal((await post(shipsOf('v2'), ship('later', 'v2', { length: 1, width: 1 }))).status, 201)
  t.equal((await server.send(shipsOf('v2'))).status, 200)
  await merge(`${definitions}/ships.${group}`, { spec: { conversion: webhook('/convert') } })
  await until(async () => (await server.send(shipsOf('v1'))).status === 200, { what: 'the webhook to be back' })
  t.match((await server.send(`${shipsOf('v1')}/later`)).body, { spec: { size: '1x1' } })
  t.ok(
    asked().some(({ objects }) => objects.length > 1),
    'all at once',
  )
})

t.test('admission webhooks are asked in the version that they know', async (t) => {
  hooks.answers.set('/admit', (review) => {
    const { uid } = requestOf(review)
    const patch = Buffer.from('[{"op":"replace","path":"/spec/width","value":5}]').toString('base64')
    return { ...review, request: undefined, response: { uid, allowed: true, patchType: 'JSONPatch', patch } }
  })
  const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
  await post(path, {
    metadata: { name: 'ships' },
    webhooks: [
      {
        name: 'ships.example.com',
        clientConfig: hooks.clientConfig('/admit'),
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [{ apiGroups: [group], apiVersions: ['v2'], operations: ['CREATE'], resources: ['ships'] }],
      },
    ],
  })
  t.match((await post(shipsOf('v1'), ship('admitted', 'v1', { size: '4x4' }))).body, { spec: { size: '4x5' } })
  t.match(hooks.reviews.get('/admit')?.[0]?.request, {
    kind: { version: 'v2' },
    requestKind: { version: 'v1' },
    object: { apiVersion: `${group}/v2`, spec: { length: 4, width: 4 } },
  })
})
