import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Http2Choice } from '../../../apiserver/config.ts'
import type { Limits } from '../../../apiserver/http/limits/limits.ts'
import { startCluster } from '../../../library/index.ts'
import { startTestApiServer, type TestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'
import {
  ACK,
  CONTINUATION,
  END_HEADERS,
  frame,
  GOAWAY,
  get,
  HEADERS,
  preface,
  RawClient,
  RST_STREAM,
  SETTINGS,
  settings,
  startHttp2,
  whole,
} from './raw-client.ts'

/** `--http2=node`: node:http2 under the same application. A client sees no difference but in what it does to protocol errors. */

const configMaps = '/api/v1/namespaces/default/configmaps'
const silent = pino({ level: 'silent' })
const start = (t: Test, http2: Http2Choice, limits: Partial<Limits> = {}): Promise<TestApiServer> =>
  startTestApiServer(t, {}, silent, limits, { http2 })

type Fields = Record<string, string>
interface Answer {
  fields: unknown
  body: string
}

async function ask(session: ClientHttp2Session, fields: Fields, body?: string): Promise<Answer> {
  const stream = session.request(fields)
  stream.end(body)
  const [received] = (await once(stream, 'response')) as [Fields]
  const { date, 'audit-id': id, ...others } = received
  return { fields: others, body: (await buffer(stream)).toString('latin1') }
}

const post = (body: string): [Fields, string] => [
  { ':method': 'POST', ':path': configMaps, 'content-type': 'application/json' },
  body,
]
const requests: [Fields, string?][] = [
  [{ ':path': '/version' }],
  [{ ':path': '/version', 'user-agent': 'curl/8' }],
  [{ ':path': '/version', ':method': 'HEAD' }],
  [{ ':path': '/apis', 'accept-encoding': 'gzip' }],
  [{ ':path': '/openapi/v2', 'accept-encoding': 'gzip' }],
  [{ ':path': '/readyz?verbose' }],
  [{ ':path': '/nowhere' }],
  [{ ':path': configMaps, 'impersonate-user': 'jane' }],
  [{ ':path': configMaps, authorization: 'Bearer nonsense' }],
  [{ ':path': configMaps, accept: 'text/html' }],
  [{ ':path': configMaps, ':method': 'PROPFIND' }],
  [{ ':path': '/%zz' }],
  post('{'),
  post(JSON.stringify({ metadata: { name: 'No' } })),
  post(`{"a":"${'x'.repeat(4 * 1024 * 1024)}"}`),
]

t.test('answers are the same as those of our own, byte for byte', async (t) => {
  const [own, node] = [await start(t, 'own'), await start(t, 'node')]
  const [ofOwn, ofNode] = [own.session(), node.session()]
  for (const [fields, body] of requests) {
    const [expected, actual] = [await ask(ofOwn, fields, body), await ask(ofNode, fields, body)]
    t.same(actual.fields, expected.fields, `${fields[':method'] ?? 'GET'} ${fields[':path']}`)
    t.equal(actual.body, expected.body)
  }
})

/** What a stream ended with, as the client sees it. */
async function codeOf(stream: ClientHttp2Stream): Promise<number> {
  stream.on('error', () => {}).resume()
  await new Promise((resolve) => stream.once('close', resolve))
  return stream.rstCode
}

t.test('an answer that is cut off ends with an error, and nothing is left of it', async (t) => {
  const server = await start(t, 'node')
  const session = server.session()
  server.instruments.faults.add({ verb: 'get', resource: 'configmaps', then: { reset: true } })
  t.equal(await codeOf(session.request({ ':path': `${configMaps}/x` })), 2)
  const watch = session.request({ ':path': `${configMaps}?watch=1` })
  await once(watch, 'response')
  watch.close(8)
  const half = session.request({ ':method': 'POST', ':path': configMaps, 'content-type': 'application/json' })
  half.on('error', () => {}).write('{"metadata":')
  await until(async () => (await inFlight(server)) === 1, { what: 'the request is under way' })
  half.close(8)
  await until(async () => (await inFlight(server)) === 0, { what: 'the request is over' })
  t.match(await ask(session, { ':path': configMaps }), { fields: { ':status': 200 } }, 'the connection goes on')
})

async function inFlight({ send }: TestApiServer): Promise<number> {
  const { body } = await send('/metrics')
  return Number(/current_inflight_requests\{request_kind="mutating"\} (\d+)/.exec(String(body))?.[1])
}

t.test('a body that does not come, and a client that never begins', async (t) => {
  const server = await start(t, 'node', { requestReadTimeout: 200 })
  const socket = connectTls({ port: server.port, ...server.tls, ALPNProtocols: ['h2'] })
  socket.on('error', () => {}).resume()
  const closed = once(socket, 'close')
  const session = server.session()
  const watch = session.request({ ':path': `${configMaps}?watch=1` })
  const stream = session.request({ ':method': 'POST', ':path': configMaps })
  stream.write('{')
  t.equal(await codeOf(stream), 8)
  await closed
  t.notOk(watch.destroyed, 'a complete request may take as long as it wants')
})

/** Resolves when the server has reset a stream, or ended the connection. */
async function hasEnded(client: RawClient): Promise<boolean> {
  await client.wait(({ type }) => type === GOAWAY || type === RST_STREAM)
  return true
}

t.test('limits of one connection: its streams, and the size of a head', async (t) => {
  const server = await start(t, 'node', { http2MaxStreamsPerAnonymousConnection: 2 })
  const open = async (): Promise<RawClient> => {
    const socket = connectTls({ port: server.port, ca: server.tls.ca, ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    t.teardown(() => socket.destroy())
    return new RawClient(socket)
  }
  const greedy = (await open()).send(preface, settings([[4, 0]]))
  await greedy.wait(({ type }) => type === SETTINGS)
  greedy.send(frame(SETTINGS, ACK, 0))
  for (const id of [1, 3, 5]) greedy.send(frame(HEADERS, whole, id, get('/version')))
  t.ok(await hasEnded(greedy), 'the third stream ends the connection')
  const large = (await open()).send(preface, settings())
  const long = Buffer.concat([Buffer.from([0x40, 1, 0x61, 126]), Buffer.alloc(126, 'x')])
  large.send(frame(HEADERS, whole, 1, Buffer.concat([get('/version'), long, Buffer.alloc(1_000, 0xbe)])))
  await large.body(1)
  t.match((await large.wait(({ type }) => type === HEADERS))?.payload.toString('latin1'), '431')
  const endless = (await open()).send(preface, settings(), frame(HEADERS, 0, 1, get('/version')))
  for (let i = 0; i < 100; i++) endless.send(frame(CONTINUATION, 0, 1, Buffer.alloc(1_000)))
  await endless.closed
  const calm = (await open()).send(preface, settings(), frame(HEADERS, whole, 1, get('/readyz')))
  t.equal((await calm.body(1)).toString(), 'ok', 'others are served')
})

t.test('fields of HTTP/1.1 are left out; CONNECT is refused', async (t) => {
  const server = await startHttp2(t, {
    http2: 'node',
    onRequest: (_, response) =>
      void response.writeHead(200, { connection: 'close', 'keep-alive': 'timeout=5', 'x-kept': 'yes' }).end(),
  })
  const session = connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())
  const { fields } = await ask(session, { ':path': '/' })
  t.match(fields, { 'x-kept': 'yes' })
  t.notMatch(fields, { connection: 'close' })
  const client = (await server.start()).send(
    frame(HEADERS, END_HEADERS, 1, Buffer.from([0x02, 7, ...Buffer.from('CONNECT'), 0x01, 1, 0x78])),
  )
  t.equal(await client.errorCode(1), 1)
})

t.test('writers wait for a client that does not read, and are told when it has left', async (t) => {
  const part = Buffer.alloc(64 * 1024, 'x')
  const written: { response?: { write(part: Buffer): boolean; writableLength: number; destroyed: boolean } } = {}
  const server = await startHttp2(t, {
    http2: 'node',
    onRequest(_, response) {
      written.response = response
      response.writeHead(200)
    },
  })
  const client = (await server.start([[4, 0]])).send(frame(HEADERS, whole, 1, get()))
  await client.wait(({ type }) => type === HEADERS)
  const { response } = written
  t.equal(response!.write(part), false)
  t.equal(response!.write(part), false)
  t.ok(response!.writableLength >= part.length, 'what waits is counted')
  client.socket.destroy()
  await until(() => response!.destroyed, { what: 'the end of the answer' })
  t.doesNotThrow(() => response!.write(part))
})

t.test('garbage never does more than end its own connection', async (t) => {
  const server = await startHttp2(t, { http2: 'node' })
  let seed = 20_261_122
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return (seed >> 8) % below
  }
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random(256)))
  for (let i = 0; i < 50; i++) {
    const client = await server.start()
    client.send(frame(random(12), random(256), random(6), bytes(random(60))), bytes(1 + random(100)))
    client.socket.end()
    await client.closed
  }
  const client = (await server.start()).send(frame(HEADERS, whole, 1, get()))
  t.equal((await client.body(1)).toString(), 'GET / ')
})

/** Whether a server packs the fields of its answer, as node:http2 does, and our own does not. */
async function packsFields(t: Test, { port, ca }: { port: number; ca: string }): Promise<boolean> {
  const socket = connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const client = new RawClient(socket).send(preface, settings(), frame(HEADERS, whole, 1, get('/version')))
  const answer = await client.wait(({ type }) => type === HEADERS)
  return !answer?.payload.toString('latin1').includes('application/json')
}

t.test('startCluster takes the choice', async (t) => {
  for (const http2 of [undefined, 'own', 'node'] as const) {
    const { url, access, close } = await startCluster({ apiOnly: true, http2 })
    const target = { port: Number(new URL(url).port), ca: access.ca ?? '' }
    t.equal(await packsFields(t, target), http2 === 'node', `http2: ${http2}`)
    await close()
  }
  await t.rejects(startCluster({ http2: 'go' as never }), { message: /^startCluster: http2 must be one of own, node/ })
})
