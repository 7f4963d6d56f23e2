import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { Agent } from 'node:https'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods'
const configMap = (name: string, data: object = {}) => ({ metadata: { name }, data })
const podOf = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})
type Body = { [key: string]: unknown; metadata: Record<string, unknown>; items: { metadata: { name: string } }[] }

/** Lines of a watch as they come. */
function watchOver(session: ClientHttp2Session, path: string) {
  const stream = session.request({ ':path': path })
  const events: { type: string; object: Body }[] = []
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) events.push(JSON.parse(line))
  })
  stream.on('error', () => {})
  const ended = once(stream, 'close')
  return { stream, events, ended, types: () => events.map(({ type, object }) => `${type} ${object.metadata.name}`) }
}

t.test('an object through its life', async (t) => {
  const { send } = await startTestApiServer(t)
  const created = await send(configMaps, { method: 'POST', body: configMap('x', { a: '1' }) })
  t.equal(created.status, 201)
  t.match(created.body, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'x', namespace: 'default' } })
  t.match(created.headers, {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    'audit-id': /^[0-9a-f-]{36}$/,
  })
  t.same((await send(`${configMaps}/x`)).body, created.body)
  const merge = { 'content-type': 'application/merge-patch+json' }
  const patched = await send(`${configMaps}/x`, {
    method: 'PATCH',
    headers: merge,
    body: { data: { a: null, b: '2' } },
  })
  t.same((patched.body as Body).data, { b: '2' })
  const json = { 'content-type': 'application/json-patch+json' }
  const twice = await send(`${configMaps}/x`, {
    method: 'PATCH',
    headers: json,
    body: [{ op: 'add', path: '/data/c', value: '3' }],
  })
  t.same((twice.body as Body).data, { b: '2', c: '3' })
  const deleted = await send(`${configMaps}/x`, { method: 'DELETE' })
  t.match(deleted.body, { kind: 'Status', status: 'Success', details: { name: 'x', kind: 'configmaps' } })
  t.equal((await send(`${configMaps}/x`)).status, 404)
})

t.test('the reason of a delete: from body, query, and never with a newline', async (t) => {
  const { send } = await startTestApiServer(t)
  const reasonOf = async (name: string, query: string, body?: object) => {
    await send(pods, { method: 'POST', body: podOf(name, { nodeName: 'n' }) })
    const { body: pod } = await send(`${pods}/${name}${query}`, { method: 'DELETE', body })
    return (pod as Body).metadata.reason
  }
  t.equal(await reasonOf('a', '?reason=Update&gracePeriodSeconds=20'), 'Update', 'from the query')
  t.equal(await reasonOf('b', '', { reason: 'Eviction' }), 'Eviction', 'from the body')
  t.equal(await reasonOf('c', '?reason=Update', { reason: 'Eviction' }), 'Eviction', 'the body wins')
  t.equal(await reasonOf('d', '?reason=Update', { gracePeriodSeconds: 3 }), 'Update', 'the query is read in any case')
  t.equal(await reasonOf('e', ''), undefined, 'none')
  await send(pods, { method: 'POST', body: podOf('f', { nodeName: 'n' }) })
  for (const reason of ['a%0Ab', '', 'x'.repeat(1025)]) {
    const refused = await send(`${pods}/f?reason=${reason}`, { method: 'DELETE' })
    t.equal(refused.status, 422, 'what cannot be a reason')
    t.match(refused.body, { reason: 'Invalid', details: { causes: [{ field: 'reason' }] } })
  }
  t.equal(((await send(`${pods}/f`)).body as Body).metadata.deletionTimestamp, undefined, 'the pod lives on')
})

t.test('an eviction is a delete with a reason of its own', async (t) => {
  const { send } = await startTestApiServer(t)
  const evicted = async (name: string, deleteOptions?: object, annotations?: object, ownAnnotations?: object) => {
    const pod = podOf(name, { nodeName: 'n' })
    await send(pods, { method: 'POST', body: { ...pod, metadata: { name, annotations } } })
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, annotations: ownAnnotations },
      deleteOptions,
    }
    const { status } = await send(`${pods}/${name}/eviction`, { method: 'POST', body: eviction })
    const { metadata, ...rest } = (await send(`${pods}/${name}`)).body as Body
    const { conditions } = rest.status as { conditions: { reason: string }[] }
    return [status, metadata.reason, conditions[0]!.reason]
  }
  t.same(await evicted('a'), [201, 'Eviction', 'EvictionByEvictionAPI'])
  t.same(await evicted('b', { reason: 'Update' }), [201, 'Update', 'EvictionByEvictionAPI'])
  const annotations = { 'kubestage.dev/termination-reason': 'Decommissioned' }
  t.same(await evicted('c', {}, annotations), [201, 'Decommissioned', 'EvictionByEvictionAPI'])
  const own = { 'kubestage.dev/termination-reason': 'Rebalanced' }
  t.same(await evicted('d', {}, annotations, own), [201, 'Rebalanced', 'EvictionByEvictionAPI'], 'the eviction’s own')
  t.same((await evicted('e', { reason: 'Update' }, {}, own))[1], 'Update', 'what it says counts more')
  const again = { metadata: { name: 'b' } }
  t.equal((await send(`${pods}/b/eviction`, { method: 'POST', body: again })).status, 201)
  t.equal(((await send(`${pods}/b`)).body as Body).metadata.reason, 'Update', 'what was said before stands')
})

t.test('an eviction on conditions, and one with a reason that is none', async (t) => {
  const { send } = await startTestApiServer(t)
  const { body } = await send(pods, { method: 'POST', body: podOf('a', { nodeName: 'n' }) })
  const { uid, resourceVersion } = (body as Body).metadata
  const evict = (deleteOptions: object) =>
    send(`${pods}/a/eviction`, { method: 'POST', body: { metadata: { name: 'a' }, deleteOptions } })
  const conditions = async () => ((await send(`${pods}/a`)).body as Pod).status?.conditions ?? []
  for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }, { uid, resourceVersion: '1' }]) {
    t.match(await evict({ preconditions }), { status: 409, body: { reason: 'Conflict' } })
  }
  t.match(await evict({ reason: 'two\nlines' }), { status: 422, body: { details: { causes: [{ field: 'reason' }] } } })
  t.same(await conditions(), [], 'nothing is marked')
  t.equal(
    (await evict({ preconditions: { uid, resourceVersion } })).status,
    201,
    'that of the pod before it was marked',
  )
  t.match(await conditions(), [{ type: 'DisruptionTarget' }])
})

t.test('lists: streamed, compressed, in pages that show one moment', async (t) => {
  const { send, client } = await startTestApiServer(t)
  const admin = client({ name: 'admin', groups: ['system:masters'] })
  const resource = { group: '', version: 'v1', plural: 'configmaps' }
  for (let i = 100; i < 400; i++) {
    await admin.create(resource, { metadata: { name: `c${i}`, namespace: 'default' }, data: { text: 'ü'.repeat(500) } })
  }
  const whole = await send(configMaps)
  t.equal((whole.body as Body).items.length, 300)
  const compressed = await send(configMaps, { headers: { 'accept-encoding': 'gzip' } })
  t.equal(compressed.headers['content-encoding'], 'gzip')
  t.same(JSON.parse(gunzipSync(compressed.bytes).toString()), whole.body)

  const first = (await send(`${configMaps}?limit=200`)).body as Body
  t.equal(first.metadata.remainingItemCount, 100)
  await send(`${configMaps}/c350`, { method: 'DELETE' })
  await send(configMaps, { method: 'POST', body: configMap('c999') })
  const second = (await send(`${configMaps}?limit=200&continue=${first.metadata.continue}`)).body as Body
  t.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
  t.same(
    [...first.items, ...second.items].map(({ metadata }) => metadata.name),
    (whole.body as Body).items.map(({ metadata }) => metadata.name),
  )
})

t.test('watches over HTTP/2: many on one connection, ended by timeout, by the client, by the server', async (t) => {
  const { send, session, close } = await startTestApiServer(t)
  const connection = session()
  const all = Array.from({ length: 50 }, () => watchOver(connection, `${configMaps}?watch=true`))
  const space = '/api/v1/namespaces?fieldSelector=metadata.name%3Ddefault'
  const timed = watchOver(connection, `${space}&watch=true&timeoutSeconds=1`)
  await send(configMaps, { method: 'POST', body: configMap('x') })
  await send(`${configMaps}/x`, { method: 'DELETE' })
  await until(() => all.every(({ events }) => events.length === 2), { what: 'both events on all watches' })
  t.same(all[49]!.types(), ['ADDED x', 'DELETED x'])
  t.ok(
    Number(all[0]!.events[1]!.object.metadata.resourceVersion) >
      Number(all[0]!.events[0]!.object.metadata.resourceVersion),
  )
  all[0]!.stream.close()
  await all[0]!.ended
  await timed.ended
  t.same(timed.types(), ['ADDED default'])
  await close()
  await Promise.all(all.map(({ ended }) => ended))
})

t.test('the server closes although connections are kept open and watches run', async (t) => {
  const { close, session, kept, send } = await startTestApiServer(t)
  await send(configMaps, { method: 'POST', body: configMap('x') })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  t.equal((await kept(`${configMaps}/x`, agent)).status, 200)
  const ofHttp1 = kept(`${configMaps}?watch=true`, agent)
  const ofHttp2 = watchOver(session(), `${configMaps}?watch=true`)
  await until(() => ofHttp2.events.length === 1, { what: 'the state' })
  await close()
  await ofHttp2.ended
  t.match((await ofHttp1).bytes.toString(), /^\{"type":"ADDED".*\}\n$/, 'its end is a proper one')
})

t.test('a watch from a revision that is forgotten: 200, then 410 in the stream', async (t) => {
  const { session, send } = await startTestApiServer(t)
  const { events, ended } = watchOver(session(), `${configMaps}?watch=true&resourceVersion=0&sendInitialEvents=maybe`)
  await ended
  t.match(events, [{ kind: 'Status', code: 422 }] as unknown as typeof events)
  const first = ((await send(configMaps)).body as Body).metadata.resourceVersion
  const resumed = watchOver(session(), `${configMaps}?watch=true&resourceVersion=${first}`)
  await send(configMaps, { method: 'POST', body: configMap('x') })
  await until(() => resumed.events.length === 1, { what: 'the event after the revision' })
  t.same(resumed.types(), ['ADDED x'])
})

t.test('unauthenticated clients get 401', async (t) => {
  const { send } = await startTestApiServer(t)
  const { status, body } = await send(pods, { anonymous: true })
  t.equal(status, 403)
  t.match(body, { message: /^pods is forbidden: User "system:anonymous" cannot list resource "pods"/ })
  t.equal((await send('/readyz', { anonymous: true })).body, 'ok')
  t.equal((await send(pods, { anonymous: true, headers: { authorization: 'Bearer nonsense' } })).status, 401)
})

t.test('acting as another user', async (t) => {
  const { send } = await startTestApiServer(t)
  const as = (headers: Record<string, string>) => send(configMaps, { headers })
  t.match((await as({ 'impersonate-user': 'jane' })).body, {
    message:
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default"',
  })
  t.equal((await as({ 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' })).status, 200)
  t.match((await as({ 'impersonate-group': 'g' })).body, { code: 400, message: /without impersonating a user name$/ })
  const stranger = await send(configMaps, { anonymous: true, headers: { 'impersonate-user': 'jane' } })
  t.match(
    (stranger.body as Body).message,
    /^configmaps is forbidden: User "system:anonymous" cannot impersonate-on:user-info:list/,
  )
})

t.test('what cannot be served is refused as upstream does', async (t) => {
  const { send }: TestApiServer = await startTestApiServer(t)
  const cases: [path: string, options: Parameters<typeof send>[1], status: number, message: RegExp | undefined][] = [
    ['/nowhere', {}, 404, undefined],
    ['/api/v1/namespaces/default/spoons', {}, 404, /could not find the requested resource/],
    ['/apis/nowhere.example.com/v1/spoons', {}, 404, undefined],
    [`${configMaps}/x/status`, {}, 404, /could not find the requested resource/],
    ['/api/v1/pods', { method: 'POST', body: podOf('x') }, 405, /does not allow this method/],
    [configMaps, { headers: { accept: 'text/html' } }, 406, /^406: Not Acceptable/],
    [configMaps, { method: 'POST', body: '{', headers: { 'content-type': 'text/plain' } }, 415, /unknown format/],
    [configMaps, { method: 'POST', body: '{' }, 400, /unexpected end of JSON input/],
    [configMaps, { method: 'POST', body: `{"a":"${'x'.repeat(3 * 1024 * 1024)}"}` }, 413, /limit is 3145728/],
    [`${configMaps}?limit=many`, {}, 400, /strconv.ParseInt: parsing "many": invalid syntax/],
    [`${configMaps}?labelSelector=a%20in`, {}, 400, /unable to parse requirement/],
    [`${configMaps}?fieldSelector=spec.x%3Dy`, {}, 400, /is not a known field selector/],
    [
      '/api/v1/namespaces/none/configmaps',
      { method: 'POST', body: configMap('x') },
      404,
      /^namespaces "none" not found$/,
    ],
    ['/api/v1/namespaces/default', { method: 'DELETE' }, 403, /this namespace may not be deleted/],
  ]
  for (const [path, options, status, message] of cases) {
    const received = await send(path, options)
    t.equal(received.status, status, `${options?.method ?? 'GET'} ${path.slice(0, 80)}`)
    if (message) t.match((received.body as { message: string }).message, message)
  }
})
