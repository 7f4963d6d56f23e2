import { once } from 'node:events'
import { createServer } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { Agent, createServer as createHttpsServer, request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import t from 'tap'
import type { PolicyRule } from '../../apiserver/auth/rbac/policy-rule.ts'
import { Warnings } from '../../apiserver/http/encode/warnings.ts'
import { moveKubeletClock } from '../../apiserver/http/instruments/tell-kubelet.ts'
import type { KubeletProxy } from '../../apiserver/http/proxy/kubelet-proxy.ts'
import type { Node } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { preface } from '../../shared/http2/protocol.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'
import {
  END_HEADERS,
  frame,
  HEADERS,
  head,
  RawClient,
  RST_STREAM,
  requestFields,
  SETTINGS,
  uint32,
} from './http2/raw-client.ts'

const core = '/api/v1/namespaces/default'
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'

/** A user with these permissions in the default namespace. */
async function allow({ send }: TestApiServer, name: string, rules: PolicyRule[]): Promise<void> {
  const group = 'rbac.authorization.k8s.io'
  await send(`${rbac}/roles`, { method: 'POST', body: { metadata: { name }, rules } })
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'Role', name },
    subjects: [{ apiGroup: group, kind: 'User', name }],
  }
  await send(`${rbac}/rolebindings`, { method: 'POST', body: binding })
}

/** The code of an answer over HTTP/2, where a client may send what HTTP/1.1 has no words for; 0 when there was none. */
function codeOf(session: ClientHttp2Session, method: string, path: string, body?: string): Promise<number> {
  const stream = session.request({ ':method': method, ':path': path }, { endStream: body === undefined })
  let code = 0
  stream.on('response', (headers) => {
    code = headers[':status'] ?? 0
  })
  stream.on('error', () => {})
  stream.resume()
  if (body !== undefined) stream.end(body)
  return new Promise((resolve) => stream.on('close', () => resolve(code)))
}

t.test('the server survives every client', async (t) => {
  const server = await startTestApiServer(t)
  const stranger = connect(`https://127.0.0.1:${server.port}`, { ca: server.tls.ca })
  t.teardown(() => stranger.destroy())
  t.equal(await codeOf(stranger, 'GET', '//[?pretty='), 403, 'a URL that is none')
  t.equal(await codeOf(stranger, 'GET', '/readyz'), 200)
})

t.test('answers for people: as they ask, in either version of HTTP', async (t) => {
  const { send } = await startTestApiServer(t)
  const linesOf = async (path: string, agent: string, accept = '*/*'): Promise<number> =>
    (await send(path, { headers: { 'user-agent': agent, accept } })).bytes.toString().trim().split('\n').length
  t.ok((await linesOf('/api/v1?pretty=true', 'x')) > 1)
  t.equal(await linesOf('/api/v1?pretty=false', 'curl/8'), 1)
  t.ok((await linesOf('/api/v1', 'curl/8')) > 1)
  t.ok((await linesOf('/version?pretty=false', 'x')) > 1, 'the version is always indented')
  const nowhere = '/api/v1/nowhere?pretty=false'
  t.equal(await linesOf(nowhere, 'curl/8', 'text/html,application/json'), 1)
  for (const accept of ['text/html', 'application/json;as=Table;v=v1;g=meta.k8s.io'])
    t.ok((await linesOf(nowhere, 'x', accept)) > 1, `an error is indented where ${accept} has no form for it`)
})

t.test('nonsense is refused, and not counted', async (t) => {
  const server = await startTestApiServer(t)
  const admin = server.session()
  const table: [code: number, method: string, path: string][] = [
    [405, 'constructor', '/api/v1/pods'],
    [405, 'toString', `${core}/pods/x`],
    [404, 'CONSTRUCTOR', '/nowhere/at/all'],
    [404, 'GET', '/api/v1/made-up'],
    [404, 'GET', `${core}/pods/x/made-up`],
    [400, 'GET', '/api/v1/pods?continue=bnVsbA'],
  ]
  for (const [code, method, path] of table) t.equal(await codeOf(admin, method, path), code, `${method} ${path}`)
  const { status, body } = await server.send('/metrics')
  t.equal(status, 200)
  t.notMatch(body, /made-up|nowhere|constructor|native code/i)
  t.match(body, /resource="pods"/)
})

t.test('a deprecated path of watches does nothing else', async (t) => {
  const server = await startTestApiServer(t)
  const { send } = server
  for (const name of ['mine', 'yours']) await send(`${core}/secrets`, { method: 'POST', body: { metadata: { name } } })
  await allow(server, 'jane', [
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['delete'] },
    { apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['watch'] },
  ])
  const headers = { 'impersonate-user': 'jane' }
  const watching = '/api/v1/watch/namespaces/default'
  t.equal((await send(`${watching}/secrets/mine`, { method: 'DELETE', headers })).status, 403)
  t.equal((await send(`${watching}/secrets/mine`, { method: 'DELETE' })).status, 405)
  t.equal((await send(`${watching}/secrets`, { method: 'POST', body: { metadata: { name: 'x' } } })).status, 405)
  t.equal((await send(`${watching}/pods/x/exec?command=id`, { headers })).status, 404)
  t.equal((await send(`${core}/secrets/yours`)).status, 200)
})

t.test('to run a command by a GET needs what a POST needs', async (t) => {
  const server = await startTestApiServer(t)
  await server.send(`${core}/pods`, {
    method: 'POST',
    body: { metadata: { name: 'x' }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  })
  const resources = ['pods/exec', 'pods/attach', 'pods/portforward']
  await allow(server, 'reader', [{ apiGroups: [''], resources, verbs: ['get'] }])
  await allow(server, 'runner', [{ apiGroups: [''], resources, verbs: ['get', 'create'] }])
  for (const what of ['exec?command=id', 'attach', 'portforward']) {
    const ask = (name: string) => server.send(`${core}/pods/x/${what}`, { headers: { 'impersonate-user': name } })
    t.match(await ask('reader'), { status: 403, body: { message: /^pods "x" is forbidden/ } }, what)
    t.match(await ask('runner'), { status: 400, body: { message: 'pod x does not have a host assigned' } }, what)
  }
})

t.test('a client that leaves before its request is admitted frees its place', async (t) => {
  const server = await startTestApiServer(t)
  const socket = tlsConnect({ ...server.tls, port: server.port, host: '127.0.0.1', ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  const client = new RawClient(socket)
  t.teardown(() => socket.destroy())
  const impersonating: [string, string][] = [
    ['impersonate-user', 'jane'],
    ['impersonate-group', 'system:masters'],
  ]
  const fields = head([...requestFields('POST', `${core}/configmaps`), ...impersonating])
  const cancelled = frame(RST_STREAM, 0, 1, uint32(8))
  client.send(preface, frame(SETTINGS, 0, 0), frame(HEADERS, END_HEADERS, 1, fields), cancelled)
  t.ok(await client.isAlive())
  const { body } = await server.send('/metrics')
  t.match(body, 'apiserver_current_inflight_requests{request_kind="mutating"} 0')
})

t.test('a client that asks for an upgrade, and leaves in the middle of a body, frees its place', async (t) => {
  const server = await startTestApiServer(t)
  const socket = tlsConnect({ ...server.tls, port: server.port, host: '127.0.0.1' })
  const lines = [
    `POST ${core}/configmaps HTTP/1.1`,
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Content-Length: 9',
    '',
    '{',
  ]
  socket.write(lines.join('\r\n'))
  const underWay = async (count: number) => {
    const { body } = await server.send('/metrics')
    return (body as string).includes(`apiserver_current_inflight_requests{request_kind="mutating"} ${count}`)
  }
  await until(() => underWay(1), { what: 'the request' })
  socket.destroy()
  await until(() => underWay(0), { what: 'its end' })
})

t.test('a proxied path leads only to the backend that it names, and does not forward the token', async (t) => {
  const server = await startTestApiServer(t)
  const seen: { url: string | undefined; protocol: string | undefined }[] = []
  const backend = createServer((_request, response) => response.end('reached'))
  backend.on('upgrade', ({ url, headers }, socket) => {
    seen.push({ url, protocol: headers['sec-websocket-protocol'] })
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  t.teardown(() => backend.close())
  const { port } = backend.address() as AddressInfo
  const pod = { metadata: { name: 'x' }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  await server.send(`${core}/pods`, { method: 'POST', body: pod })
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }
  const podIP = '127.0.0.1'
  await server.send(`${core}/pods/x/status`, { ...patch, body: { status: { podIP, podIPs: [{ ip: podIP }] } } })
  const through = (chosen: string) => server.send(`${core}/pods/x:${chosen}/proxy/`)
  t.equal((await through(String(port))).body, 'reached')
  for (const [chosen, why] of [
    [`80@127.0.0.1:${port}`.replace(':', '%3A'), 'invalid pod request'],
    ['1@localhost', 'lookup tcp/1@localhost: unknown port'],
    ['nope', 'lookup tcp/nope: unknown port'],
    ['65536', 'address 65536: invalid port'],
  ] as const) {
    const { status, body } = await through(chosen)
    t.ok(status === 400 || status === 503, chosen)
    t.match((body as { message: string }).message, why)
  }
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('secret').toString('base64url')}`
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': `chat, ${token}` }
  const asking = request(`https://127.0.0.1:${server.port}${core}/pods/x:${port}/proxy/a`, {
    ...server.tls,
    agent: false,
    headers: upgrade,
  })
  asking.end()
  const [, socket] = (await once(asking, 'upgrade')) as [unknown, Socket]
  socket.destroy()
  t.strictSame(seen, [{ url: '/a', protocol: 'chat' }])
})

t.test('nonsense from a kubelet is reported, and affects no other request', async (t) => {
  const pki = ensureClusterPki({
    directory: t.testdir(),
    nowMs: realClock.now(),
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'n',
  })
  let text = ''
  const kubelet = createHttpsServer(pki.apiServer, (_request, response) => response.end(text))
  await once(kubelet.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => kubelet.close())
  const { port } = kubelet.address() as AddressInfo
  const reach = () => ({ origin: `https://127.0.0.1:${port}`, agent: new Agent({ ca: pki.ca.cert }) })
  const move = (said: string) => {
    text = said
    return moveKubeletClock({ reach } as unknown as KubeletProxy, {} as Node, { movedMs: 1, isLast: true })
  }
  t.equal(await move('{"nextMs":5}'), 5)
  t.equal(await move('{"nextMs":"soon"}'), undefined)
  await t.rejects(move('nonsense'), SyntaxError)
  await t.rejects(move('x'.repeat(100_000)), /does not come to an end/)
})

t.test('controls take maps of fields, and nothing else', async (t) => {
  const { send } = await startTestApiServer(t)
  for (const [method, what] of [
    ['PUT', 'journal'],
    ['POST', 'faults'],
    ['PUT', 'snapshot'],
  ] as const) {
    for (const body of ['null', '[]', '1', '{']) {
      const { status } = await send(`/kubestage/v1/${what}`, { method, body })
      t.equal(status, 400, `${what} ${body}`)
    }
  }
})

t.test('a body that is made to be read slowly is read as quickly as any', async (t) => {
  const { send } = await startTestApiServer(t)
  const path = `${core}/configmaps?dryRun=All`
  const headers = { 'content-type': 'application/yaml' }
  const many = 90_000
  const bodies = {
    'what might be anchors': `a: '${'&'.repeat(many)}'`,
    'a text without its end': `a: "${'\\"'.repeat(many)}`,
    'a line of blanks, and a key that stands twice': `a: 1\na: 1\nb: |\n  x${' '.repeat(many)}y\n`,
    'a line of dashes, and a key that stands twice': `a: 1\na: 1\nb: |\n${'  - '.repeat(many)}\n`,
  }
  for (const [what, body] of Object.entries(bodies))
    t.ok((await send(path, { method: 'POST', headers, body })).status <= 422, what)
})

t.test('a patch that copies an object into itself, again and again, is refused', async (t) => {
  const { send } = await startTestApiServer(t)
  await send(`${core}/configmaps`, { method: 'POST', body: { metadata: { name: 'x' }, data: { a: 'b' } } })
  const patch = (times: number) =>
    send(`${core}/configmaps/x?fieldValidation=Ignore`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json-patch+json' },
      body: Array.from({ length: times }, (_, count) => ({ op: 'copy', from: '/data', path: `/data/x${count}` })),
    })
  t.match(await patch(60), {
    status: 422,
    body: { message: 'the server rejected our request due to an error in our request' },
  })
  t.equal((await send(`${core}/configmaps/x`)).status, 200)
})

t.test('warnings: each once, and never more than a head can hold', (t) => {
  const warnings = new Warnings()
  t.equal(warnings.header(), undefined)
  for (const text of ['a "b"', 'a "b"', 'c\nd', 'é']) warnings.add(text)
  t.same(warnings.header(), ['299 - "a \\"b\\""', '299 - "c d"', '299 - "?"'])
  for (let count = 0; count < 100_000; count++) warnings.add(`${count} ${'x'.repeat(1000)}`)
  const cut = warnings.header() ?? []
  t.equal(cut[0], '299 - "a \\"b\\""')
  t.ok(cut.length > 10 && cut.length < 30, `${cut.length} of them`)
  t.ok(cut.every((text) => text.length <= 256 + '299 - ""'.length + 4))
  t.end()
})

t.test('a pod of which every port is a mistake is a matter of moments', async (t) => {
  const { send } = await startTestApiServer(t)
  const ports = Array.from({ length: 40_000 }, () => ({ containerPort: 1 }))
  const body = { metadata: { name: 'x' }, spec: { containers: [{ name: 'a', image: 'a', ports }] } }
  const { status, headers } = await send(`${core}/pods?dryRun=All`, { method: 'POST', body })
  t.equal(status, 201)
  t.match(headers.warning, /duplicate port definition with spec.containers\[0\].ports\[0\]/)
})

t.test('a request for another protocol waits for the answers before it', async (t) => {
  const server = await startTestApiServer(t)
  const get = (path: string, ...more: string[]) => [`GET ${path} HTTP/1.1`, 'Host: x', ...more, '', ''].join('\r\n')
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const watch = `${core}/configmaps?watch=1`
  const asWebSocket = get(`${watch}&timeoutSeconds=1`, ...upgrade, `Sec-WebSocket-Key: ${btoa('0123456789abcdef')}`)
  const rows: Record<string, [before: string[], codes: string[]]> = {
    'one answer': [['/version'], ['200', '101']],
    'several answers': [
      ['/version', '/nothing', '/version'],
      ['200', '404', '200', '101'],
    ],
    'a watch that ends in a second': [[`${watch}&timeoutSeconds=1`], ['200', '101']],
    'an answer that ends the connection': [['/version', 'close'], ['200']],
    'an expectation that is not met': [
      ['/version', 'expect'],
      ['417', '101'],
    ],
  }
  for (const [name, [before, codes]] of Object.entries(rows))
    await t.test(name, async (t) => {
      const socket = tlsConnect({ ...server.tls, port: server.port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] })
      let answers = ''
      socket.on('data', (data) => (answers += data.toString('latin1')))
      const seen = () => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)
      const paths = before.filter((path) => path.startsWith('/'))
      const last = before.includes('close') ? ['Connection: close'] : before.includes('expect') ? ['Expect: x'] : []
      socket.write([...paths.map((path) => get(path, ...last)), asWebSocket].join(''))
      await until(() => seen().length === codes.length, { what: `${codes}` })
      if (before.includes('close')) await until(() => socket.closed, { what: 'the end of the connection' })
      t.same(seen(), codes)
      socket.destroy()
    })
  t.equal((await server.send('/version')).status, 200)
})
