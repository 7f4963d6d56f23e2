/** The client's HTTP/2 against node:http2, which is nghttp2: another's reading of the same standard. */
import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { commonHead, requestHead, statusIn } from '../../shared/client/http2/frames.ts'
import { configMaps, pods } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { HeaderDecoder } from '../../shared/http2/hpack/header-decoder.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

const pki = ensureClusterPki({
  directory: t.testdir(),
  nowMs: Date.now(),
  host: '127.0.0.1',
  serviceAddress: '10.96.0.1',
  nodeName: 'node-1',
})

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse, body: string) => void

/** A server of nghttp2's, and a client of ours. `sessions`: its connections, in the order in which they came. */
async function serve(t: Test, answer: Answer, options: SecureServerOptions & { requestTimeoutMs?: number } = {}) {
  const { requestTimeoutMs, ...more } = options
  const { cert, key } = pki.apiServer
  const sessions: ServerHttp2Session[] = []
  const server = createSecureServer(
    { cert, key, ca: pki.ca.cert, requestCert: true, ...more },
    async (request, response) => {
      let body = ''
      request.setEncoding('utf8')
      for await (const chunk of request) body += chunk
      answer(request, response, body)
    },
  )
  server.on('session', (session) => sessions.push(session))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const access = { server: `https://127.0.0.1:${port}`, ca: pki.ca.cert, ...pki.admin }
  const client = createRestClient({ ...access, clock: realClock, http2: true, requestTimeoutMs })
  t.teardown(async () => {
    await client.close()
    for (const session of sessions) session.destroy()
    server.close()
  })
  const get = (name: string) => client.get(pods, { namespace: 'ns', name })
  return { client, get, sessions }
}
const send = (response: Http2ServerResponse, code: number, body: unknown): void => {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const nameIn = ({ url }: Http2ServerRequest): string => url.split('/').at(-1) ?? ''

t.test('requests and answers of every kind and size share one connection', async (t) => {
  const seen: string[] = []
  const { client, get, sessions } = await serve(
    t,
    (request, response, body) => {
      const { method, url, headers } = request
      seen.push(`${method} ${url} ${headers['content-type'] ?? '-'} ${headers['user-agent']} ${body.length}`)
      send(response, method === 'POST' ? 201 : 200, method === 'GET' ? { name: nameIn(request) } : JSON.parse(body))
    },
    { paddingStrategy: constants.PADDING_STRATEGY_MAX, settings: { maxConcurrentStreams: 7 } },
  )
  const names = Array.from({ length: 50 }, (_, i) => `pod-${i}`)
  t.same(
    await Promise.all(names.map(get)),
    names.map((name) => ({ name })),
  )
  const ref = { namespace: 'ns', name: 'a'.repeat(200) }
  const large = { metadata: ref, data: { text: 'ä'.repeat(1_000_000) } }
  seen.length = 0
  t.same(await client.create(configMaps, large), large)
  t.equal(await client.create(configMaps, large, { unread: true }), large)
  t.same(await client.patch(configMaps, ref, []), [])
  await client.delete(configMaps, ref, {})
  const path = '/api/v1/namespaces/ns/configmaps'
  const size = JSON.stringify(large).length
  t.same(seen, [
    `POST ${path} application/json kubestage ${size}`,
    `POST ${path} application/json kubestage ${size}`,
    `PATCH ${path}/${ref.name} application/merge-patch+json kubestage 2`,
    `DELETE ${path}/${ref.name} application/json kubestage 42`,
  ])
  t.equal(sessions.length, 1)
})

t.test('failures are told in the words of the server, or else by their status', async (t) => {
  const { client, get } = await serve(t, (request, response) => {
    if (nameIn(request) === 'text') response.writeHead(502).end('bad gateway\n')
    else if (nameIn(request) === 'empty') response.writeHead(503).end()
    else send(response, 409, { kind: 'Status', reason: 'Conflict', message: 'not now', code: 409 })
  })
  await t.rejects(get('other'), { code: 409, reason: 'Conflict', message: 'not now' })
  await t.rejects(client.delete(pods, { name: 'other' }), { code: 409, message: 'not now' }, 'also of what is not read')
  await t.rejects(get('text'), { code: 502, message: 'bad gateway' })
  await t.rejects(get('empty'), { code: 503, message: 'HTTP 503' })
})

t.test('a connection that the server wants to end is left, and nothing is lost', async (t) => {
  const { get, sessions } = await serve(t, (request, response) => {
    if (nameIn(request) === 'last') sessions.at(-1)?.close()
    send(response, 200, { name: nameIn(request) })
  })
  for (const name of ['first', 'last', 'next', 'last', 'next']) t.same(await get(name), { name })
  t.equal(sessions.length, 3)
})

t.test('what the server did not begin is asked again; what it perhaps did, only if it changes nothing', async (t) => {
  const seen: string[] = []
  const { client, get, sessions } = await serve(t, (request, response) => {
    const name = nameIn(request)
    seen.push(name)
    const isFirst = seen.filter((other) => other === name).length === 1
    if (name === 'refused' && isFirst) response.stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else if (name === 'torn' && isFirst) sessions.at(-1)?.destroy()
    else if (name === 'broken') {
      response.writeHead(200).write('{"half":')
      response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    } else send(response, 200, { name })
  })
  t.same(await get('begins'), { name: 'begins' })
  t.same(await client.patch(pods, { name: 'refused' }, {}), { name: 'refused' })
  t.same(await get('torn'), { name: 'torn' })
  seen.length = 0
  await t.rejects(client.patch(pods, { name: 'torn' }, {}), /closed in the middle/)
  await t.rejects(get('broken'), /the server ended the request, code 2/)
  t.same(await get('goes-on'), { name: 'goes-on' })
  t.same(seen, ['torn', 'broken', 'goes-on'])
})

t.test('no answer in time ends a request, and its connection if nothing else came either', async (t) => {
  const { get, sessions } = await serve(
    t,
    (request, response) => {
      if (nameIn(request) !== 'silent') send(response, 200, { name: nameIn(request) })
    },
    { requestTimeoutMs: 300 },
  )
  t.same(await get('first'), { name: 'first' })
  await t.rejects(get('silent'), /GET .*silent: no answer within 0.3 s/)
  t.same(await get('next'), { name: 'next' })
  t.equal(sessions.length, 2)
  const silent = get('silent')
  t.same(await get('other'), { name: 'other' })
  await t.rejects(silent, /no answer within/)
  t.same(await get('last'), { name: 'last' })
  t.equal(sessions.length, 2)
})

t.test('watches share the connection, and are none of the requests that may be under way', async (t) => {
  const watches = new Map<string, Http2ServerResponse>()
  const { client, get, sessions } = await serve(t, (request, response) => {
    const { searchParams } = new URL(request.url, 'https://server')
    if (!searchParams.has('watch')) return send(response, 200, { name: nameIn(request) })
    const selector = searchParams.get('labelSelector') ?? ''
    if (selector === 'old') return send(response, 410, { kind: 'Status', reason: 'Expired', code: 410 })
    response.writeHead(200).write('\n')
    watches.set(selector, response)
  })
  const event = (name: string) => `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`
  const follow = (labelSelector: string, signal?: AbortSignal) => {
    const seen: string[] = []
    const ended = (async () => {
      for await (const { object } of client.watch(pods, { labelSelector, signal })) {
        seen.push(object.metadata.name ?? '')
        if (object.metadata.name === 'enough') break
      }
    })()
    return { seen, ended }
  }
  const opened = async (...names: string[]) => {
    while (names.some((name) => !watches.has(name))) await get('turn')
  }
  const many = Array.from({ length: 20 }, (_, i) => follow(`many-${i}`))
  const cut = follow('cut')
  const aborting = new AbortController()
  const aborted = follow('aborted', aborting.signal)
  const enough = follow('enough')
  await opened('many-19', 'cut', 'aborted', 'enough')
  t.same(await get('a'), { name: 'a' })
  t.equal(sessions.length, 1)

  const bytes = Buffer.from(event('ä') + event('b'))
  for (const byte of bytes) {
    await new Promise((resolve) => watches.get('cut')?.stream.write(Buffer.of(byte), resolve))
  }
  watches.get('cut')?.end(`${event('c')}{"torn`)
  await cut.ended
  t.same(cut.seen, ['ä', 'b', 'c'])

  const closed = (name: string) => new Promise((resolve) => watches.get(name)?.stream.once('close', resolve))
  const leaving = [closed('aborted'), closed('enough')]
  aborting.abort()
  await aborted.ended
  watches.get('enough')?.write(event('enough'))
  await enough.ended
  await Promise.all(leaving)
  t.equal(watches.get('aborted')?.stream.rstCode, constants.NGHTTP2_CANCEL)

  await t.rejects(follow('old').ended, { code: 410, reason: 'Expired' })
  const lost = many.map(({ ended }) =>
    t.rejects(ended, /closed in the middle of an answer|the server ended the request/),
  )
  sessions[0]?.destroy()
  await Promise.all(lost)
  const again = follow('again')
  await opened('again')
  t.equal(sessions.length, 2)
  await client.close()
  await again.ended
})

t.test('what comes over when the client is closed is no answer', async (t) => {
  const { client, get } = await serve(t, () => {})
  const asked = get('a')
  const closed = t.rejects(asked, /the client is closed/)
  await client.close()
  await closed
  await t.rejects(get('b'), /the client is closed/)
})

t.test('a server that speaks only HTTP/1.1 is spoken to in that', async (t) => {
  const { cert, key } = pki.apiServer
  const versions: string[] = []
  const server = createServer({ cert, key, ca: pki.ca.cert, requestCert: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.end(JSON.stringify({ url: request.url }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const access = { server: `https://127.0.0.1:${port}`, ca: pki.ca.cert, ...pki.admin }
  const client = createRestClient({ ...access, clock: realClock, http2: true })
  t.teardown(async () => {
    await client.close()
    server.close()
  })
  const urls = await Promise.all(['a', 'b'].map((name) => client.get(pods, { name })))
  t.same(urls, [{ url: '/api/v1/pods/a' }, { url: '/api/v1/pods/b' }])
  t.same(await client.get(pods, { name: 'c' }), { url: '/api/v1/pods/c' })
  t.same(versions, ['1.1', '1.1', '1.1'])
})

t.test('if the port is not open the first request says so', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const client = createRestClient({ server: `https://127.0.0.1:${port}`, clock: realClock, http2: true })
  t.teardown(() => client.close())
  for (const name of ['a', 'b']) await t.rejects(client.get(pods, { name }), { code: 'ECONNREFUSED' })
})

t.test('a head as our server reads it', async (t) => {
  const long = 'x'.repeat(20_000)
  const rest = commonHead('localhost:6443', { accept: 'application/json', authorization: `Bearer ${long}` })
  const request = { method: 'PATCH', path: `/a?b=${'c'.repeat(127)}`, contentType: 'application/json' }
  const fields: [string, string][] = []
  const head = Buffer.from(requestHead(request, { bodyBytes: 1234, rest }), 'latin1')
  new HeaderDecoder().decode(head, ({ name, value }) => fields.push([name, value]))
  t.same(fields, [
    [':method', 'PATCH'],
    [':path', request.path],
    [':scheme', 'https'],
    [':authority', 'localhost:6443'],
    ['accept', 'application/json'],
    ['authorization', `Bearer ${long}`],
    ['content-type', 'application/json'],
    ['content-length', '1234'],
  ])
})

t.test('a status however it is written', async (t) => {
  const cases: [number[], number | undefined][] = [
    [[0x88], 200],
    [[0x8e], 500],
    [[0x20, 0x88], 200],
    [[0x3f, 0x81, 0x1f, 0x8b], 304],
    [[0x08, 3, 0x34, 0x30, 0x39], 409],
    [[0x48, 3, 0x32, 0x30, 0x31], 201],
    [[0x48, 0x82, 0x10, 0x03], 201], // 00010 00000 00001 1
    [[0x08, 0x82, 0x68, 0x1f], 409], // 011010 00000 011111
    [[0x82], undefined],
    [[], undefined],
    [[0x08, 3, 0x34], undefined],
  ]
  for (const [bytes, status] of cases) t.equal(statusIn(Buffer.from(bytes)), status, bytes.join(' '))
})
