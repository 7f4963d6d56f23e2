/** Bodies are bounded by their values and by what they are for, in every format, and large ones are decoded in turns. */
import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Limits } from '../../apiserver/http/limits/limits.ts'
import { emptyMessages, envelope, field, podMessage } from '../budgets/attacks/wire.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'

const core = '/api/v1/namespaces/default'
const configMaps = `${core}/configmaps?dryRun=All`
const pods = `${core}/pods?dryRun=All`
const most = 1_000
const yaml = 'application/yaml'
const protobuf = 'application/vnd.kubernetes.protobuf'

const start = (t: Test, limits: Partial<Limits> = { maxRequestBodyValues: most }): Promise<TestApiServer> =>
  startTestApiServer(t, {}, pino({ level: 'silent' }), limits)

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const refusal = {
  kind: 'Status',
  code: 413,
  reason: 'RequestEntityTooLarge',
  message: `Request entity too large: limit is ${most} objects, lists and members of either`,
}

t.test('a body may hold so many values, in every format and for every way to write', async (t) => {
  const { send } = await start(t)
  await send(`${core}/configmaps`, { method: 'POST', body: { metadata: { name: 'x' } } })
  const post = (body: string | Buffer, type = 'application/json', path = configMaps) =>
    send(path, { method: 'POST', body, headers: { 'content-type': type } })
  const patch = (body: string, type: string, query = '') =>
    send(`${core}/configmaps/x?dryRun=All${query}`, { method: 'PATCH', body, headers: { 'content-type': type } })
  const numbers = (count: number): string => times(count, () => '1').join()
  const rows: Record<string, (count: number) => ReturnType<typeof send>> = {
    JSON: (count) => post(`{"metadata":{"name":"y"},"a":[${numbers(count)}]}`),
    'YAML in brackets': (count) => post(`metadata: {name: y}\na: [${numbers(count)}]`, yaml),
    'YAML in lines': (count) => post(`metadata: {name: y}\na:\n${times(count, () => '- 1\n').join('')}`, yaml),
    'YAML, unfolded': (count) =>
      post(`metadata: {name: y}\na: &a [${numbers(count / 40)}]\nb: [${times(40, () => '*a')}]`, yaml),
    'YAML in JSON': (count) => post(`{"metadata":{"name":"y"},"a":[${numbers(count)}]}`, yaml),
    'JSON that is no JSON': (count) => post(`{"metadata":{"name":"y"},"a":[${numbers(count)}],b: c}`, yaml),
    'JSON in protobuf': (count) =>
      post(
        envelope('v1', 'ConfigMap', field(1, field(17, field(7, field(1, Buffer.from(`{"a":[${numbers(count)}]}`)))))),
        protobuf,
      ),
    'messages of protobuf': (count) => post(podMessage(field(2, emptyMessages(7, count))), protobuf, pods),
    'numbers of protobuf': (count) => post(podMessage(field(2, emptyMessages(3, 2 * count))), protobuf, pods),
    'apply patch': (count) =>
      patch(
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\na: [${numbers(count)}]`,
        'application/apply-patch+yaml',
        '&fieldManager=a',
      ),
    'merge patch': (count) => patch(`{"a":[${numbers(count)}]}`, 'application/merge-patch+json'),
    'strategic merge patch': (count) => patch(`{"a":[${numbers(count)}]}`, 'application/strategic-merge-patch+json'),
    'JSON patch': (count) =>
      patch(`[{"op":"add","path":"/a","value":[${numbers(count)}]}]`, 'application/json-patch+json'),
    'options of a delete': (count) =>
      send(`${core}/configmaps/none`, { method: 'DELETE', body: `{"a":[${numbers(count)}]}` }),
  }
  for (const [name, ask] of Object.entries(rows)) {
    t.not((await ask(most - 100)).status, 413, name)
    t.match((await ask(most + 100)).body, refusal, `${name}: too many`)
  }
})

t.test('an object in a list of a built-in kind counts for more', async (t) => {
  const { send } = await start(t)
  const pod = (count: number) => ({ metadata: { name: 'x' }, spec: { containers: times(count, () => ({})) } })
  t.equal((await send(pods, { method: 'POST', body: pod(100) })).status, 422)
  t.match((await send(pods, { method: 'POST', body: pod(400) })).body, refusal)
  const range = (count: number) => ({
    metadata: { name: 'x' },
    spec: { limits: [{ type: 'Pod', max: Object.fromEntries(times(count, (i) => [`a.b/c${i}`, '1'])) }] },
  })
  t.equal((await send(`${core}/limitranges?dryRun=All`, { method: 'POST', body: range(200) })).status, 201)
  t.match((await send(`${core}/limitranges?dryRun=All`, { method: 'POST', body: range(400) })).body, refusal)
})

t.test('text counts as one value, whatever it consists of', async (t) => {
  const { send } = await start(t)
  const body = { metadata: { name: 'x' }, data: { a: '{[,"\\'.repeat(10_000) } }
  t.equal((await send(configMaps, { method: 'POST', body })).status, 201)
})

t.test('what is small by its kind may have 128 KiB', async (t) => {
  const { send } = await start(t, {})
  await send(`${core}/configmaps`, { method: 'POST', body: { metadata: { name: 'x' } } })
  const authorization = '/apis/authorization.k8s.io/v1'
  for (const [method, path] of [
    ['POST', '/apis/authentication.k8s.io/v1/tokenreviews'],
    ['POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews'],
    ['POST', `${authorization}/selfsubjectaccessreviews`],
    ['POST', `${authorization}/selfsubjectrulesreviews`],
    ['POST', `${authorization}/subjectaccessreviews`],
    ['POST', `/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews`],
    ['POST', `${core}/serviceaccounts/default/token`],
    ['POST', `${core}/pods/x/binding`],
    ['POST', `${core}/bindings`],
    ['POST', `${core}/pods/x/eviction`],
    ['PUT', '/apis/apps/v1/namespaces/default/deployments/x/scale'],
    ['PATCH', '/apis/apps/v1/namespaces/default/deployments/x/scale'],
    ['DELETE', `${core}/configmaps/x`],
    ['DELETE', `${core}/configmaps`],
  ] as const) {
    const body = JSON.stringify({ a: 'x'.repeat(128 * 1024) })
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    t.match(await send(path, { method, body, headers: { 'content-type': type } }), {
      status: 413,
      body: { reason: 'RequestEntityTooLarge', message: 'Request entity too large: limit is 131072' },
    })
  }
  t.equal((await send(`${core}/configmaps/x`)).status, 200)
})

t.test('of what a strict reader says, the first hundred are told, and not more than a reader can bear', async (t) => {
  const { send } = await start(t, {})
  const strict = `${configMaps}&fieldValidation=Strict`
  const told = async (body: string): Promise<string> =>
    ((await send(strict, { method: 'POST', body })).body as { message: string }).message
  const members = (count: number): string => times(count, (i) => `"a${i}":1`).join()
  t.equal((await told(`{"metadata":{"name":"x"},${members(200)}}`)).match(/unknown field/g)?.length, 100)
  const twice = await told(`{"metadata":{"name":"x"},"b":{${members(200)},${members(200)}}}`)
  t.equal(twice.match(/duplicate field/g)?.length, 99)
  const long = await told(`{"metadata":{"name":"x"},"${'b'.repeat(50_000)}":{${members(200)},${members(200)}}}`)
  t.ok(long.length < 200_000, `${long.length} characters`)
})

t.test('while one user’s large bodies wait, another’s is decoded next', async (t) => {
  const { port, tls, send } = await start(t, {})
  const account = async (name: string): Promise<string> => {
    await send(`${core}/serviceaccounts`, { method: 'POST', body: { metadata: { name } } })
    const { body } = await send(`${core}/serviceaccounts/${name}/token`, { method: 'POST', body: { spec: {} } })
    return (body as { status: { token: string } }).status.token
  }
  const order: string[] = []
  const body = `{"spec":{"nonResourceAttributes":{}},"a":[${times(50_000, () => '1').join()}]}`
  const ask = async (name: string, count: number): Promise<void> => {
    const authorization = `Bearer ${await account(name)}`
    const session = connect(`https://127.0.0.1:${port}`, { ca: tls.ca })
    t.teardown(() => session.destroy())
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const answers = times(count, async () => {
      const stream = session.request({ ':method': 'POST', ':path': path, authorization }).resume()
      stream.end(body)
      await new Promise((resolve) => stream.once('close', resolve))
      order.push(name)
    })
    await Promise.all(answers)
  }
  await Promise.all([ask('many', 40), ask('few', 2)])
  t.ok(order.lastIndexOf('few') < 35, `${order}`)
})

t.test('the copies of a JSON patch hold no more values than a body may', async (t) => {
  const { send } = await start(t)
  await send(`${core}/configmaps`, { method: 'POST', body: { metadata: { name: 'x' } } })
  const copies = (count: number) =>
    send(`${core}/configmaps/x?dryRun=All`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json-patch+json' },
      body: [
        { op: 'add', path: '/a', value: times(300, () => 1) },
        ...times(count, (i) => ({ op: 'copy', from: '/a', path: `/b${i}` })),
      ],
    })
  t.equal((await copies(3)).status, 200)
  t.equal((await copies(4)).status, 422)
})

t.test('a body without a declared length counts for a user by the bytes that have arrived', async (t) => {
  const server = await start(t, {})
  const session = server.session()
  t.teardown(() => session.destroy())
  const statuses = times(64, async (i) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${core}/configmaps`,
      'content-type': 'application/json',
    })
    stream.end(JSON.stringify({ metadata: { name: `undeclared-${i}` } }))
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    stream.resume()
    return Number(head[':status'])
  })
  t.same(new Set(await Promise.all(statuses)), new Set([201]))
})
