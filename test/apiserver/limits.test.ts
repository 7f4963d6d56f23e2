/** What a client may hold at the server: connections, streams, and answers that it does not read. */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Limits } from '../../apiserver/http/limits/limits.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'

function start(t: Test, limits: Partial<Limits>, lines: { msg: string; client?: string }[] = []) {
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return startTestApiServer(t, {}, log, limits)
}

async function open(t: Test, { port, tls }: TestApiServer, credentials: object = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: tls.ca, ALPNProtocols: ['h2'], ...credentials })
  socket.on('error', () => {}).resume()
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

function anonymousSession(t: Test, { port, tls }: TestApiServer, settings = {}): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { ca: tls.ca, settings })
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  return session
}

const metric = async ({ send }: TestApiServer, name: string): Promise<number> => {
  const { body } = await send('/metrics')
  const line = String(body)
    .split('\n')
    .find((text) => text.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

t.test('clients without credentials displace only each other', async (t) => {
  const lines: { msg: string; client?: string }[] = []
  const server = await start(t, { maxAnonymousConnections: 3 }, lines)
  const { ca, ...admin } = server.tls
  const known = await open(t, server, admin)
  const first = await open(t, server)
  const closed = once(first, 'close')
  const others = [await open(t, server), await open(t, server), await open(t, server)]
  await closed
  t.ok([known, ...others].every(({ destroyed }) => !destroyed))
  t.match(lines, [
    { msg: /limit reached: connections without valid credentials; the oldest/, client: /^127\.0\.0\.1:\d+$/ },
  ])
  const counted = 'kubestage_limits_reached_total{limit="max-anonymous-connections"}'
  t.equal(await metric(server, counted), 1)
})

t.test('too many connections: the oldest without credentials goes first, then new ones are refused', async (t) => {
  const server = await start(t, { maxConnections: 3 })
  const { ca, ...admin } = server.tls
  const stranger = await open(t, server)
  const displaced = once(stranger, 'close')
  const known = [await open(t, server, admin), await open(t, server, admin), await open(t, server, admin)]
  await displaced
  const refused = await open(t, server, admin)
  if (!refused.destroyed) await once(refused, 'close')
  t.ok(known.every(({ destroyed }) => !destroyed))
})

t.test('too many TLS handshakes: the oldest is ended', async (t) => {
  const lines: { msg: string; client?: string }[] = []
  const server = await start(t, { maxHandshakes: 2 }, lines)
  const begin = async () => {
    const socket = connectTcp(server.port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  const first = await begin()
  const closed = once(first, 'close')
  const others = [await begin(), await begin()]
  await closed
  t.ok(others.every(({ destroyed }) => !destroyed))
  t.match(lines, [
    { msg: 'limit reached: TLS handshakes at a time; the oldest is ended', client: /^127\.0\.0\.1:\d+$/ },
  ])
  const { ca, ...admin } = server.tls
  const known = await open(t, server, admin)
  t.ok((await metric(server, 'kubestage_apiserver_handshakes')) <= 2, 'one that is complete is none of them')
  t.ok((await metric(server, 'kubestage_limits_reached_total{limit="max-handshakes"}')) >= 2)
  t.notOk(known.destroyed)
})

t.test('the limit of bodies holds for each way to write', async (t) => {
  const { send } = await start(t, { maxRequestBodyBytes: 1_000 })
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { text: 'x'.repeat(1_000) } }
  t.equal((await send(configMaps, { method: 'POST', body: { ...body, data: {} } })).status, 201)
  for (const [method, path, type] of [
    ['POST', configMaps, 'json'],
    ['PUT', `${configMaps}/x`, 'json'],
    ['PATCH', `${configMaps}/x`, 'merge-patch+json'],
    ['PATCH', `${configMaps}/x?fieldManager=x`, 'apply-patch+yaml'],
    ['DELETE', `${configMaps}/x`, 'json'],
    ['DELETE', configMaps, 'json'],
    ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', 'json'],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', 'json'],
    ['POST', '/api/v1/namespaces/default/pods/x/binding', 'json'],
    ['POST', '/api/v1/namespaces/default/pods/x/eviction', 'json'],
    ['PUT', '/apis/apps/v1/namespaces/default/deployments/x/scale', 'json'],
  ] as const) {
    const { status, body: answer } = await send(path, {
      method,
      body,
      headers: { 'content-type': `application/${type}` },
    })
    t.equal(status, 413, `${method} ${path}`)
    t.match(answer, { reason: 'RequestEntityTooLarge', message: 'Request entity too large: limit is 1000' })
  }
})

t.test('a client may open more streams when it has shown credentials', async (t) => {
  const server = await start(t, {})
  const account = '/api/v1/namespaces/default/serviceaccounts/default/token'
  const { body } = await server.send(account, { method: 'POST', body: { spec: {} } })
  const { token } = (body as { status: { token: string } }).status
  const session = anonymousSession(t, server)
  await once(session, 'remoteSettings')
  t.equal(session.remoteSettings.maxConcurrentStreams, 100)
  const raised = once(session, 'remoteSettings')
  session.request({ ':path': '/version', authorization: `Bearer ${token}` }).resume()
  await raised
  t.equal(session.remoteSettings.maxConcurrentStreams, 10_000)
})

t.test('a client with a certificate is told once how many streams it may open', async (t) => {
  const server = await start(t, {})
  const session = server.session()
  const told: (number | undefined)[] = []
  session.on('remoteSettings', ({ maxConcurrentStreams }) => told.push(maxConcurrentStreams))
  await once(session.request({ ':path': '/version' }).resume(), 'end')
  t.same(told, [10_000])
})

t.test('a connection without streams ends, one with a watch stays', async (t) => {
  const server = await start(t, { idleTimeout: 200 })
  const watching = server.session()
  const watch = watching.request({ ':path': `${configMaps}?watch=1` })
  await once(watch, 'response')
  const idle = server.session()
  const answered = idle.request({ ':path': '/version' }).resume()
  await once(answered, 'end')
  await once(idle, 'close')
  t.notOk(watching.destroyed)
  t.notOk(watch.destroyed)
})

t.test('a refusal names the first mistakes, and how many it leaves out', async (t) => {
  const { send } = await start(t, {})
  const scopes = Array.from({ length: 4_000 }, (_, index) => `Scope${index}`)
  const body = { metadata: { name: 'q' }, spec: { scopes } }
  const refused = await send('/api/v1/namespaces/default/resourcequotas', { method: 'POST', body })
  t.equal(refused.status, 422)
  t.match(refused.body, { message: /and \d+ more errors\]$/, details: { causes: [{ field: 'spec.scopes' }] } })
  t.ok(refused.bytes.length < 12 * 1024 * 1024, `${refused.bytes.length} bytes`)
})

async function withLargeObject(server: TestApiServer): Promise<void> {
  const body = { metadata: { name: 'large' }, data: { text: 'x'.repeat(500_000) } }
  t.equal((await server.send(configMaps, { method: 'POST', body })).status, 201)
}

/** Requests of a client that grants no window. */
function ask(session: ClientHttp2Session, count: number): ClientHttp2Stream[] {
  return Array.from({ length: count }, () => {
    const stream = session.request({ ':path': `${configMaps}/large` })
    stream.on('error', () => {})
    return stream
  })
}

t.test('requests of a client that does not read its answers wait until it does', async (t) => {
  const server = await start(t, { maxRequestsPerConnection: 2 })
  await withLargeObject(server)
  const session = connect(`https://127.0.0.1:${server.port}`, { ...server.tls, settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  const streams = ask(session, 20)
  await until(async () => (await metric(server, 'kubestage_apiserver_waiting_requests')) === 18, {
    what: '18 requests wait',
  })
  const unread = await metric(server, 'kubestage_apiserver_unread_answer_bytes')
  t.ok(unread > 1_000_000 && unread < 1_100_000, 'two answers')
  t.equal((await server.send('/version')).status, 200, 'other connections are served')
  const received = streams.map(async (stream) => {
    let bytes = 0
    for await (const part of stream) bytes += (part as Buffer).length
    return bytes
  })
  session.settings({ initialWindowSize: 2 ** 24 })
  t.ok((await Promise.all(received)).every((bytes) => bytes > 500_000))
  t.equal(await metric(server, 'kubestage_apiserver_waiting_requests'), 0)
  t.equal(await metric(server, 'kubestage_apiserver_unread_answer_bytes'), 0)
})

t.test('bytes that a client has not read keep its next requests waiting', async (t) => {
  const server = await start(t, { maxUnreadBytesPerConnection: 400_000 })
  await withLargeObject(server)
  const session = connect(`https://127.0.0.1:${server.port}`, { ...server.tls, settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  const unread = 'kubestage_apiserver_unread_answer_bytes'
  ask(session, 1)
  await until(async () => (await metric(server, unread)) > 500_000, { what: 'an unread answer' })
  ask(session, 3)
  await until(async () => (await metric(server, 'kubestage_apiserver_waiting_requests')) === 3, { what: '3 wait' })
})

t.test('answers that are not read are cut off, and requests that wait behind them leave no trace', async (t) => {
  const lines: { msg: string; client?: string }[] = []
  const server = await start(t, { maxRequestsPerConnection: 2, unreadTimeout: 400 }, lines)
  await withLargeObject(server)
  const session = connect(`https://127.0.0.1:${server.port}`, { ...server.tls, settings: { initialWindowSize: 0 } })
  t.teardown(() => session.destroy())
  const [first, , third] = ask(session, 3)
  await new Promise((resolve) => first!.once('close', resolve))
  t.match(lines[0], { msg: /the answer is cut off/, client: /^127/ })
  await new Promise((resolve) => third!.once('response', resolve))
  session.destroy()
  await until(async () => (await metric(server, 'kubestage_apiserver_unread_answer_bytes')) === 0, {
    what: 'nothing unread',
  })
  t.equal(await metric(server, 'kubestage_apiserver_waiting_requests'), 0)
})
