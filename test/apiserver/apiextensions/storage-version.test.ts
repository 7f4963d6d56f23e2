/** A definition's storage version changes, and every object is still what it was: the version that it is stored in stands in its value. */
import { once } from 'node:events'
import t from 'tap'
import type { KubeObject } from '../../../shared/api/types.ts'
import { startTestApiServer, type TestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'
import { startWebhookServer } from '../../harness/webhook-server.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'ships.example.com'
const shipsOf = (version: string) => `/apis/${group}/${version}/namespaces/default/ships`
const ship = (name: string, version: string, spec: object) => ({
  apiVersion: `${group}/${version}`,
  kind: 'Ship',
  metadata: { name },
  spec,
})
const text = { type: 'string' }
const schema = (properties: object) => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
})
/** v1 says `hostPort: a:1`, v2 `host` and `port`. */
const v1 = { name: 'v1', served: true, schema: schema({ hostPort: text, shared: text, one: text }) }
const v2 = { name: 'v2', served: true, schema: schema({ host: text, port: text, shared: text, two: text }) }

async function define(server: TestApiServer, versions: object[], conversion?: object): Promise<void> {
  const spec = { group, scope: 'Namespaced', names: { plural: 'ships', kind: 'Ship' }, versions, conversion }
  const metadata = { name: `ships.${group}` }
  const found = await server.send(`${definitions}/${metadata.name}`)
  if (found.status === 404) await server.send(definitions, { method: 'POST', body: { metadata, spec } })
  else await merge(server, `${definitions}/${metadata.name}`, { spec })
}
const merge = (server: TestApiServer, path: string, body: object) =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })
const create = (server: TestApiServer, version: string, name: string, spec: object) =>
  server.send(shipsOf(version), { method: 'POST', body: ship(name, version, spec) })
/** Served with the hash of this storage version. */
const storedAs = (server: TestApiServer, version: string) =>
  until(
    async () => {
      const { body } = await server.send(`${definitions}/ships.${group}`)
      const { status } = body as { status: { storedVersions?: string[] } }
      return status.storedVersions?.includes(version) && (await server.send(shipsOf(version))).status === 200
    },
    { what: `${version} to be stored` },
  )

t.test('with a conversion webhook', async (t) => {
  const server = await startTestApiServer(t)
  const hooks = await startWebhookServer(t)
  hooks.answers.set('/convert', convert)
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: hooks.clientConfig('/convert') },
  }
  await define(server, [{ ...v1, storage: true }], conversion)
  await until(async () => (await server.send(shipsOf('v1'))).status === 200, { what: 'v1' })
  t.equal((await create(server, 'v1', 'old', { hostPort: 'a:1', shared: 's' })).status, 201)
  await define(
    server,
    [
      { ...v1, storage: false },
      { ...v2, storage: true },
    ],
    conversion,
  )
  await storedAs(server, 'v2')
  const old = { v1: { hostPort: 'a:1', shared: 's' }, v2: { host: 'a', port: '1', shared: 's' } }
  t.strictSame(await specsOf(server, 'v2'), { old: old.v2 }, 'v2 is made of what is stored in v1')
  t.strictSame(await specsOf(server, 'v1'), { old: old.v1 }, 'v1 is what is stored')
  t.equal((await create(server, 'v2', 'new', { host: 'b', port: '2' })).status, 201)
  const both = {
    v1: { old: old.v1, new: { hostPort: 'b:2' } },
    v2: { old: old.v2, new: { host: 'b', port: '2' } },
  }
  t.strictSame(await specsOf(server, 'v1'), both.v1, 'each from its own version')
  t.strictSame(await specsOf(server, 'v2'), both.v2)

  // As migrations do: a write that changes nothing stores the object in the version of today.
  const { body: shown } = await server.send(`${shipsOf('v2')}/old`)
  const before = (shown as KubeObject).metadata.resourceVersion
  const put = await server.send(`${shipsOf('v2')}/old`, { method: 'PUT', body: shown as object })
  t.equal(put.status, 200)
  t.not((put.body as KubeObject).metadata.resourceVersion, before, 'written anew')
  const again = await server.send(`${shipsOf('v2')}/old`, { method: 'PUT', body: put.body as object })
  t.same((again.body as KubeObject).metadata, (put.body as KubeObject).metadata, 'and once is enough')
  await define(
    server,
    [
      { ...v1, storage: true },
      { ...v2, storage: false },
    ],
    conversion,
  )
  await until(async () => (await specsOf(server, 'v1')).old !== undefined, { what: 'v1' })
  t.strictSame(await specsOf(server, 'v1'), both.v1, 'and back')
  t.strictSame(await specsOf(server, 'v2'), both.v2)
})

t.test('without one only fields that both versions know are seen, and none is lost', async (t) => {
  const server = await startTestApiServer(t)
  await define(server, [
    { ...v1, storage: true },
    { ...v2, storage: false },
  ])
  await until(async () => (await server.send(shipsOf('v2'))).status === 200, { what: 'v2' })
  await create(server, 'v1', 'old', { one: '1', shared: 's' })
  await define(server, [
    { ...v1, storage: false },
    { ...v2, storage: true },
  ])
  await storedAs(server, 'v2')
  t.strictSame(await specsOf(server, 'v2'), { old: { shared: 's' } })
  t.strictSame(await specsOf(server, 'v1'), { old: { one: '1', shared: 's' } }, 'v1 still says all that is stored')
  await create(server, 'v2', 'new', { two: '2', shared: 't' })
  t.strictSame(await specsOf(server, 'v1'), { old: { one: '1', shared: 's' }, new: { shared: 't' } })
})

t.test('an apply is refused where the object does not fit a version that has an entry, served or not', async (t) => {
  const server = await startTestApiServer(t)
  const apply = (version: string, spec: object) =>
    server.send(`${shipsOf(version)}/a?fieldManager=me&force=true`, {
      method: 'PATCH',
      body: ship('a', version, spec),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })
  await define(server, [
    { ...v1, storage: true },
    { ...v2, storage: false },
  ])
  await until(async () => (await server.send(shipsOf('v2'))).status === 200, { what: 'v2' })
  t.equal((await apply('v2', { shared: 's' })).status, 201)
  const undeclared = '.spec.one: field not declared in schema'
  const merged = await apply('v1', { shared: 's', one: '1' })
  t.equal(merged.status, 500)
  t.match(merged.body, {
    message: `failed to prune fields: failed to convert merged object to last applied version: ${undeclared}`,
  })
  await define(server, [
    { ...v1, schema: schema({ shared: text, one: { ...text, default: 'd' } }), storage: true },
    { ...v2, served: false, storage: false },
  ])
  await until(async () => JSON.stringify(await specsOf(server, 'v1')).includes('"one":"d"'), { what: 'the default' })
  const refused = await apply('v1', { shared: 's' })
  t.equal(refused.status, 500)
  t.strictSame((refused.body as { message?: string }).message, undeclared)
})

t.test('a default of the status is there from the create on', async (t) => {
  const server = await startTestApiServer(t)
  const status = { type: 'object', properties: { seen: { type: 'integer' } }, default: { seen: -1 } }
  const openAPIV3Schema = { type: 'object', properties: { ...v1.schema.openAPIV3Schema.properties, status } }
  await define(server, [{ ...v1, subresources: { status: {} }, schema: { openAPIV3Schema }, storage: true }])
  await until(async () => (await server.send(shipsOf('v1'))).status === 200, { what: 'v1' })
  const made = await server.send(shipsOf('v1'), {
    method: 'POST',
    body: { ...ship('a', 'v1', { shared: 's' }), status: { seen: 4 } },
  })
  for (const { body } of [made, await server.send(`${shipsOf('v1')}/a`)]) {
    const { status, metadata } = body as KubeObject & { status?: object }
    t.strictSame(status, { seen: -1 })
    t.notMatch(JSON.stringify(metadata.managedFields), 'f:status')
  }
})

t.test('clients see one apiVersion, in gets, lists and watches', async (t) => {
  const server = await startTestApiServer(t)
  await define(server, [{ ...v1, storage: true }])
  await until(async () => (await server.send(shipsOf('v1'))).status === 200, { what: 'v1' })
  const stream = server.session().request({ ':path': `${shipsOf('v1')}?watch=true` })
  t.teardown(() => stream.close())
  const watched = once(stream.setEncoding('utf8'), 'data')
  const made = await create(server, 'v1', 'a', { shared: 'x'.repeat(1000) })
  const texts = [made, await server.send(`${shipsOf('v1')}/a`), await server.send(shipsOf('v1'))].map(({ bytes }) =>
    bytes.toString(),
  )
  texts.push(String((await watched)[0]))
  for (const shown of texts) {
    const about = shown.slice(0, 40)
    const kinds = shown.replaceAll(/"managedFields":\[.*?\]/g, '').match(/"apiVersion":"[^"]*"/g) ?? []
    t.same(new Set(kinds), new Set([`"apiVersion":"${group}/v1"`]), about)
    t.equal(kinds.length, shown.includes('ShipList') ? 2 : 1, about)
  }
})

/** By name. */
async function specsOf(server: TestApiServer, version: string): Promise<Record<string, unknown>> {
  const { body } = await server.send(shipsOf(version))
  const { items = [] } = body as { items?: (KubeObject & { spec?: unknown })[] }
  const listed = Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec]))
  for (const name of Object.keys(listed)) {
    const got = (await server.send(`${shipsOf(version)}/${name}`)).body as KubeObject
    if (JSON.stringify(got.spec) !== JSON.stringify(listed[name])) return { [name]: 'differs between get and list' }
  }
  return listed
}

function convert(review: Record<string, unknown>): Record<string, unknown> {
  const { uid, desiredAPIVersion, objects } = review.request as {
    uid: string
    desiredAPIVersion: string
    objects: { apiVersion: string; spec: Record<string, string> }[]
  }
  const convertedObjects = objects.map((object) => {
    const { hostPort = ':', host, port, ...rest } = object.spec
    const [from = '', to = ''] = hostPort.split(':')
    const spec = desiredAPIVersion.endsWith('v2') ? { host: from, port: to } : { hostPort: `${host}:${port}` }
    return { ...object, apiVersion: desiredAPIVersion, spec: { ...spec, ...rest } }
  })
  const { apiVersion, kind } = review
  return { apiVersion, kind, response: { uid, result: { status: 'Success' }, convertedObjects } }
}
