import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { KubeObject, WatchEvent } from '../../shared/api/types.ts'
import type { ListQuery } from '../../shared/client/client.ts'
import { startInformer } from '../../shared/client/informer.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { configMaps, leases, pods } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

const directory = mkdtempSync(join(tmpdir(), 'kubestage-client-'))
const pki = ensureClusterPki({
  directory,
  nowMs: Date.now(),
  host: '127.0.0.1',
  serviceAddress: '10.96.0.1',
  nodeName: 'node-1',
})
t.teardown(() => rmSync(directory, { recursive: true }))

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A server that demands client certificates and answers as the test says. */
async function serve(
  test: { teardown(callback: () => void): void },
  answer: Answer,
): Promise<{ server: Server; access: ClusterAccess }> {
  const server = createServer(
    { cert: pki.apiServer.cert, key: pki.apiServer.key, ca: pki.ca.cert, requestCert: true, rejectUnauthorized: true },
    async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      answer(request, response, body)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { server, access: { server: `https://127.0.0.1:${port}`, ca: pki.ca.cert, ...pki.admin } }
}

const json = (response: ServerResponse, code: number, body: unknown): void => {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

t.test('requests say what the API expects, and carry the client certificate', async (t) => {
  const seen: string[] = []
  const { access } = await serve(t, (request, response, body) => {
    const user = (request.socket as TLSSocket).getPeerCertificate().subject.CN
    const type = request.headers['content-type'] ?? '-'
    seen.push(`${user} ${request.method} ${request.url} ${type} ${body}`)
    json(response, 200, { metadata: { name: 'a' }, items: [] })
  })
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(() => client.close())
  const ref = { namespace: 'ns', name: 'a' }
  await client.get(pods, ref)
  await client.list(leases, { namespace: 'ns', labelSelector: 'a=b,c', limit: 5 })
  await client.list(pods, { fieldSelector: 'spec.nodeName=n' })
  await client.create(configMaps, { metadata: ref })
  await client.create(pods, { target: { name: 'n' } }, { ...ref, subresource: 'binding' })
  await client.update(pods, { metadata: ref }, { subresource: 'status' })
  await client.patch(pods, ref, { a: 1 })
  await client.patch(pods, ref, [], { type: 'json', subresource: 'status' })
  await client.delete(pods, ref, { gracePeriodSeconds: 0, reason: 'Update' })
  await client.delete(pods, ref)
  const user = 'kubernetes-admin'
  t.same(seen, [
    `${user} GET /api/v1/namespaces/ns/pods/a - `,
    `${user} GET /apis/coordination.k8s.io/v1/namespaces/ns/leases?labelSelector=a%3Db%2Cc&limit=5 - `,
    `${user} GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn - `,
    `${user} POST /api/v1/namespaces/ns/configmaps application/json {"metadata":{"namespace":"ns","name":"a"}}`,
    `${user} POST /api/v1/namespaces/ns/pods/a/binding application/json {"target":{"name":"n"}}`,
    `${user} PUT /api/v1/namespaces/ns/pods/a/status application/json {"metadata":{"namespace":"ns","name":"a"}}`,
    `${user} PATCH /api/v1/namespaces/ns/pods/a application/merge-patch+json {"a":1}`,
    `${user} PATCH /api/v1/namespaces/ns/pods/a/status application/json-patch+json []`,
    `${user} DELETE /api/v1/namespaces/ns/pods/a application/json {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"reason":"Update"}`,
    `${user} DELETE /api/v1/namespaces/ns/pods/a - `,
  ])
})

t.test('of the answer to a foreseen patch only the version is read, unless the answer has several', async (t) => {
  const answers = [
    { metadata: { name: 'a', resourceVersion: '7', annotations: { note: '{"resourceVersion":"1"}' } }, status: {} },
    { metadata: { name: 'a', labels: { resourceVersion: '1' }, resourceVersion: '8' }, status: { phase: 'Other' } },
    { kind: 'Status', status: 'Failure', code: 409, reason: 'Conflict', message: 'changed' },
  ]
  const { access } = await serve(t, (_request, response) => {
    const answer = answers.shift() as { code?: number }
    json(response, answer.code ?? 200, answer)
  })
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(() => client.close())
  const foreseen = { metadata: { name: 'a', resourceVersion: '6' }, status: { phase: 'Running' } } as KubeObject
  const patch = () => client.patch(pods, { namespace: 'ns', name: 'a' }, {}, { foreseen })
  t.same(await patch(), { metadata: { name: 'a', resourceVersion: '7' }, status: { phase: 'Running' } })
  t.match(await patch(), { metadata: { resourceVersion: '8' }, status: { phase: 'Other' } })
  await t.rejects(patch(), { code: 409 })
})

t.test('failures are StatusErrors when the server puts them into words', async (t) => {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  const answers: Record<string, Answer> = {
    gone: (_, response) =>
      json(response, 404, {
        ...status,
        message: 'no "gone"',
        reason: 'NotFound',
        details: { name: 'gone' },
        code: 404,
      }),
    text: (_, response) => void response.writeHead(502).end('bad gateway\n'),
    torn: (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"half":')
      response.socket?.destroy()
    },
    silent: () => {},
  }
  const { access } = await serve(t, (request, response, body) => {
    const name = request.url?.split('/').at(-1) ?? ''
    answers[name]?.(request, response, body)
  })
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(() => client.close())
  const hasty = createRestClient({ ...access, clock: realClock, requestTimeoutMs: 200 })
  t.teardown(() => hasty.close())
  const get = (name: string, of = client) => of.get(pods, { namespace: 'ns', name })
  await t.rejects(get('gone'), {
    code: 404,
    reason: 'NotFound',
    message: 'no "gone"',
    status: { details: { name: 'gone' } },
  })
  await t.rejects(get('text'), new StatusError({ code: 502, message: 'bad gateway' }))
  await t.rejects(get('torn'), /closed in the middle of an answer/)
  await t.rejects(get('silent', hasty), /GET \/api\/v1\/namespaces\/ns\/pods\/silent: no answer within 0.2 s/)
  const stranger = createRestClient({ ...access, cert: undefined, key: undefined, clock: realClock })
  t.teardown(() => stranger.close())
  await t.rejects(stranger.get(pods, { name: 'a' }), Error, 'without a certificate the server hangs up')
})

t.test('a kept connection that the server has closed is no failure for a read', async (t) => {
  const sockets = new Set<unknown>()
  const { access } = await serve(t, (request, response) => {
    sockets.add(request.socket)
    json(response, 200, {})
    // Gone without a word, after the answer: the client learns it only when it writes again.
    response.once('finish', () => request.socket.destroy())
  })
  const client = createRestClient({ ...access, clock: realClock, maxRequests: 1 })
  t.teardown(() => client.close())
  for (let i = 0; i < 5; i++) await client.get(pods, { name: 'a' })
  t.ok(sockets.size > 1)
})

t.test('a write uses no connection that a server may close at this moment, as no request came for long', async (t) => {
  const sockets = new Set<unknown>()
  const { access } = await serve(t, (request, response) => {
    sockets.add(request.socket)
    json(response, 201, {})
  })
  const clock = createVirtualClock()
  const client = createRestClient({ ...access, clock, maxRequests: 2 })
  t.teardown(() => client.close())
  const create = () => client.create(configMaps, { metadata: { name: 'a' } }, { namespace: 'default' })
  await Promise.all([create(), create()])
  await clock.advance(50_000)
  await create()
  t.equal(sockets.size, 2, 'a connection is used again')
  await clock.advance(50_000)
  await Promise.all([create(), create()])
  t.equal(sockets.size, 3, 'one has waited for too long')
  await clock.advance(80_000)
  await Promise.all([create(), create()])
  t.equal(sockets.size, 5, 'both have')
})

t.test('a watch yields whole lines whatever the chunks, and ends as it is told', async (t) => {
  const event = (type: string, name: string) => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`
  let open = 0
  const { access } = await serve(t, (request, response) => {
    open += 1
    response.once('close', () => (open -= 1))
    if (request.url?.includes('resourceVersion=old')) {
      response.end(
        `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } })}\n`,
      )
      return
    }
    const bytes = Buffer.from(event('ADDED', 'größe') + event('MODIFIED', 'b'))
    for (const byte of bytes) response.write(Buffer.of(byte))
    if (request.url?.includes('resourceVersion=torn')) response.end('{"type":"ADD')
  })
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(() => client.close())
  const read = async (resourceVersion: string, until: (count: number) => void = () => {}, signal?: AbortSignal) => {
    const seen: string[] = []
    for await (const { type, object } of client.watch(pods, { resourceVersion, signal })) {
      seen.push(`${type} ${object.metadata.name}`)
      until(seen.length)
    }
    return seen
  }
  t.same(await read('torn'), ['ADDED größe', 'MODIFIED b'], 'a torn last line is no event')
  await t.rejects(read('old'), { code: 410, reason: 'Expired', message: 'too old' })
  const stop = new AbortController()
  t.same(await read('1', (count) => count === 2 && stop.abort(), stop.signal), ['ADDED größe', 'MODIFIED b'])
  t.same(await read('1', () => {}, AbortSignal.abort()), [])
  const closing = read('1', (count) => count === 2 && void client.close())
  t.same(await closing, ['ADDED größe', 'MODIFIED b'], 'closing the client ends its watches')
  for (; open > 0; ) await new Promise((resolve) => setImmediate(resolve))
})

t.test('kubeconfig: inline data, file names, tokens, and mistakes by name', async (t) => {
  const file = join(directory, 'config')
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const config = (user: object, context: object = { cluster: 'c', user: 'u' }) => ({
    'current-context': 'x',
    clusters: [{ name: 'c', cluster: { server: 'https://h:1', 'certificate-authority-data': base64('CA') } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context }],
  })
  const load = (content: unknown) => {
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return loadKubeconfig(file)
  }
  writeFileSync(join(directory, 'my.crt'), 'CERT')
  writeFileSync(join(directory, 'my.token'), 'abc\n')
  const inline = { 'client-certificate': 'my.crt', 'client-key-data': base64('KEY') }
  t.match(await load(config(inline)), { server: 'https://h:1', ca: 'CA', cert: 'CERT', key: 'KEY' })
  t.match(await load(config({ tokenFile: 'my.token' })), { token: 'abc', cert: undefined })
  t.match(
    await load(
      'current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters:\n- name: c\n  cluster: {server: "https://y"}\nusers: [{name: u, user: {}}]\n',
    ),
    { server: 'https://y' },
  )
  await t.rejects(load(config({}, { cluster: 'c', user: 'v' })), /user "v" does not exist/)
  await t.rejects(load({ ...config({}), 'current-context': 'other' }), /context "other" does not exist/)
  await t.rejects(load({}), /no current-context/)
})

/** A scripted API: each list and watch takes the next entry. */
function scripted(lists: (KubeObject[] | Error)[], watches: (WatchEvent[] | Error | 'hang')[]) {
  const calls: string[] = []
  return {
    calls,
    async list() {
      const next = lists.shift() ?? []
      calls.push('list')
      if (next instanceof Error) throw next
      return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '10' }, items: next as never[] }
    },
    async *watch(_: unknown, { resourceVersion, signal }: { resourceVersion?: string; signal?: AbortSignal }) {
      const next = watches.shift() ?? 'hang'
      calls.push(`watch ${resourceVersion}`)
      if (next instanceof Error) throw next
      if (next !== 'hang') yield* next as never[]
      else await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    },
  }
}

const object = (name: string, resourceVersion: string, uid = name): KubeObject => ({
  metadata: { name, uid, resourceVersion },
})

t.test('an informer follows its collection through ends, losses and 410', async (t) => {
  const clock = createVirtualClock()
  const expired = new StatusError({ code: 410, reason: 'Expired', message: 'too old' })
  const api = scripted(
    [
      new Error('refused'),
      [object('a', '1'), object('b', '2')],
      [object('a', '1'), object('c', '20', 'other'), object('d', '21')],
    ],
    [
      [
        { type: 'MODIFIED', object: object('b', '11') },
        { type: 'ADDED', object: object('c', '12') },
        { type: 'BOOKMARK', object: object('', '15') },
      ],
      new Error('reset'),
      expired,
    ],
  )
  const seen: string[] = []
  const errors: unknown[] = []
  const informer = startInformer<KubeObject>({
    client: api,
    resource: pods,
    clock,
    random: () => 0,
    onError: (error) => errors.push(error),
    indexes: { firstLetter: ({ metadata }) => [metadata.uid?.[0] ?? ''] },
    handlers: [
      {
        onAdd: ({ metadata }, initial) => seen.push(`+${metadata.name}${initial ? ' initial' : ''}`),
        onUpdate: ({ metadata }, old) =>
          seen.push(`~${metadata.name} ${old.metadata.resourceVersion}→${metadata.resourceVersion}`),
        onDelete: ({ metadata }) => seen.push(`-${metadata.name} ${metadata.uid}`),
      },
    ],
  })
  t.equal(informer.hasSynced(), false)
  await clock.advanceUntil(() => informer.hasSynced())
  await informer.synced()
  await clock.advanceUntil(() => api.calls.length === 7)
  t.same(api.calls, ['list', 'list', 'watch 10', 'watch 15', 'watch 15', 'list', 'watch 10'])
  t.same(seen, ['+a initial', '+b initial', '~b 2→11', '+c', '-c c', '+c', '+d', '-b b'])
  t.same(
    errors.map((error) => (error as Error).message),
    ['refused', 'reset', 'too old'],
  )
  t.same(
    [...informer.list()].map(({ metadata }) => metadata.uid),
    ['a', 'other', 'd'],
  )
  t.same(
    informer.byIndex('firstLetter', 'o').map(({ metadata }) => metadata.name),
    ['c'],
  )
  t.same(informer.byIndex('firstLetter', 'c'), [])
  const late: string[] = []
  informer.addHandler({ onAdd: ({ metadata }, initial) => late.push(`${metadata.name} ${initial}`) })
  t.same(late, ['a true', 'c true', 'd true'])
  await informer.close()
})

t.test('an informer reads a list in pages, and at once when a page came too late', async (t) => {
  const expired = new StatusError({ code: 410, reason: 'Expired', message: 'too old' })
  const answers = [
    { metadata: { resourceVersion: '5', continue: 'next' }, items: [object('a', '1')] },
    expired,
    { metadata: { resourceVersion: '7' }, items: [object('b', '6')] },
    { metadata: { resourceVersion: '9', continue: 'next' }, items: [object('b', '6')] },
    { metadata: { resourceVersion: '9' }, items: [object('c', '8')] },
  ]
  const { watch, calls } = scripted([], [expired])
  const asked: unknown[] = []
  const list = async (_: unknown, { limit, continue: next }: ListQuery = {}) => {
    asked.push([limit, next])
    const answer = answers.shift()
    if (!answer || answer instanceof Error) throw answer
    return { apiVersion: 'v1', kind: 'List', ...answer } as never
  }
  const clock = createVirtualClock()
  const informer = startInformer<KubeObject>({ client: { list, watch }, resource: pods, clock, random: () => 0 })
  t.teardown(() => informer.close())
  await clock.advanceUntil(() => calls.includes('watch 9'))
  t.same(asked, [
    [500, undefined],
    [500, 'next'],
    [undefined, undefined],
    [500, undefined],
    [500, 'next'],
  ])
  t.same(calls, ['watch 7', 'watch 9'])
  t.same(
    [...informer.list()].map(({ metadata }) => metadata.name),
    ['b', 'c'],
  )
})

t.test('a server that is away is asked ever more rarely; one that ends every watch at once, too', async (t) => {
  for (const watches of [[], Array.from({ length: 50 }, () => [] as WatchEvent[])]) {
    const clock = createVirtualClock()
    const lists = watches.length === 0 ? Array.from({ length: 50 }, () => new Error('refused')) : []
    const api = scripted(lists, watches)
    const informer = startInformer({ client: api, resource: pods, clock, random: () => 0 })
    await clock.advance(60_000)
    t.ok(api.calls.length > 8 && api.calls.length < 16, `${api.calls.length} attempts in a minute`)
    const closing = informer.close()
    await t.resolves(closing)
    if (lists.length > 0) await t.rejects(informer.synced(), /closed before its first list/)
  }
})
