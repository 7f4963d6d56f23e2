import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createCors } from '../../apiserver/http/cors.ts'
import { FlowControl } from '../../apiserver/http/flow-control/flow-control.ts'
import { scaleOwners, withScaleOwners } from '../../apiserver/http/subresources/scale-owners.ts'
import type { ManagedFieldsEntry } from '../../apiserver/patch/managed-fields.ts'
import { validateJobStatus } from '../../apiserver/resources/batch/job/validate-status.ts'
import { errorBody } from '../../apiserver/validation/field-error.ts'
import type { FieldErrors } from '../../apiserver/validation/field-errors.ts'
import type { KubeObject, Status } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'

const core = '/api/v1/namespaces/default'
const message = ({ body }: Received): string => (body as Status).message ?? ''
const post = (server: TestApiServer, path: string, body: object): Promise<Received> =>
  server.send(path, { method: 'POST', body })
const merge = (server: TestApiServer, path: string, body: object): Promise<Received> =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

const podIP = '127.64.0.9'

/** A server that tells what it was asked. */
async function startBackend(t: Test): Promise<{ server: Server; port: number }> {
  const server = createServer((request: IncomingMessage, response) => {
    if (request.url === '/page')
      return response.setHeader('content-type', 'text/html').end('<a href="/next">next</a> <a href="//x/">x</a>')
    if (request.url === '/endless') {
      const more = () => {
        while (response.write('x'.repeat(60_000)));
      }
      response.setHeader('content-type', 'text/html').on('drain', more)
      return more()
    }
    if (request.url === '/away') return response.writeHead(302, { location: '/there' }).end()
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () =>
      response
        .writeHead(request.url === '/made' ? 201 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body })),
    )
  })
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pipe(socket)
  })
  server.listen(0, podIP)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { server, port: (server.address() as AddressInfo).port }
}

t.test('proxy', async (t) => {
  const server = await startTestApiServer(t)
  const { port } = await startBackend(t)
  const spec = {
    automountServiceAccountToken: false,
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: port }] }],
  }
  await post(server, `${core}/pods`, { metadata: { name: 'p' }, spec })
  t.equal(message(await server.send(`${core}/pods/p/proxy/`)), 'address not allowed', 'it has none yet')
  await merge(server, `${core}/pods/p/status`, { status: { podIP } })

  t.test('passes on what belongs to the backend', async (t) => {
    const asked = await server.send(`${core}/pods/p/proxy/a/b%2Fc?x=1&y=2`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-mine': 'yes', 'content-type': 'text/plain' },
    })
    t.match(asked.body, {
      method: 'POST',
      url: '/a/b%2Fc?x=1&y=2',
      body: 'hello',
      headers: { 'x-mine': 'yes', 'x-forwarded-uri': `${core}/pods/p/proxy` },
    })
    t.equal((await post(server, `${core}/pods/http:p:${port}/proxy/made`, {})).status, 201)
    const redirected = await server.send(`${core}/pods/p/proxy?x=1`)
    t.match(redirected, { status: 301, headers: { location: `${core}/pods/p/proxy/?x=1` } })
    const session = server.session()
    const stream = session.request({ ':path': `${core}/pods/p/proxy/h2`, ':method': 'PUT' })
    stream.end('body')
    const text = (await stream.setEncoding('utf8').toArray()).join('')
    t.match(JSON.parse(text), { url: '/h2', method: 'PUT', body: 'body' })
  })

  t.test('keeps links and redirections below its path', async (t) => {
    const page = await server.send(`${core}/pods/p/proxy/page`)
    t.equal(page.body, `<a href="${core}/pods/p/proxy/next">next</a> <a href="//x/">x</a>`)
    t.equal((await server.send(`${core}/pods/p/proxy/away`)).headers.location, `${core}/pods/p/proxy/there`)
  })

  t.test('reads no page without end', async (t) => {
    const page = await server.send(`${core}/pods/p/proxy/endless`)
    t.match(page, { status: 503, body: { message: 'error trying to reach service: the page is larger than 16 MiB' } })
  })

  t.test('joins the streams of a connection', async (t) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', ...server.tls })
    socket.write(`GET ${core}/pods/p/proxy/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    const [head] = (await once(socket, 'data')) as [Buffer]
    t.match(head.toString(), /^HTTP\/1\.1 101/)
    socket.write('echo')
    const [echo] = (await once(socket, 'data')) as [Buffer]
    t.equal(echo.toString(), 'echo')
    socket.destroy()
  })

  t.test('finds the pods behind a service', async (t) => {
    await post(server, `${core}/services`, {
      metadata: { name: 's' },
      spec: {
        ports: [
          { name: 'web', port: 80 },
          { name: 'other', port: 81 },
        ],
      },
    })
    t.match(message(await server.send(`${core}/services/s/proxy/`)), 'services "s" not found', 'nothing tells of pods')
    const ready = { addresses: [podIP], conditions: { ready: true } }
    const slice = {
      addressType: 'IPv4',
      endpoints: [{ ...ready, conditions: { ready: false } }],
      ports: [{ name: 'web', port }],
    }
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
    const made = await post(server, path, {
      metadata: { name: 's', labels: { 'kubernetes.io/service-name': 's' } },
      ...slice,
    })
    t.equal(made.status, 201, message(made))
    t.equal((await server.send(`${core}/services/s:web/proxy/x`)).status, 503, 'none is ready')
    await merge(server, `${path}/s`, { endpoints: [ready] })
    t.match((await server.send(`${core}/services/s:web/proxy/x`)).body, { url: '/x' })
    t.match((await server.send(`${core}/services/s:80/proxy/x`)).body, { url: '/x' }, 'by the number of the port')
    t.equal((await server.send(`${core}/services/s:other/proxy/x`)).status, 503)
  })

  t.test('of objects that are called like parts of the path', async (t) => {
    await post(server, '/api/v1/namespaces', { metadata: { name: 'services' } })
    const services = '/api/v1/namespaces/services/services'
    await post(server, services, { metadata: { name: 'proxy' }, spec: { ports: [{ port: 80 }] } })
    const made = await post(server, '/apis/discovery.k8s.io/v1/namespaces/services/endpointslices', {
      metadata: { name: 'proxy', labels: { 'kubernetes.io/service-name': 'proxy' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [podIP], conditions: { ready: true } }],
      ports: [{ name: '', port }],
    })
    t.equal(made.status, 201, message(made))
    const { body } = await server.send(`${services}/proxy/proxy/x`)
    t.match(body, { url: '/x', headers: { 'x-forwarded-uri': `${services}/proxy/proxy` } })
  })

  t.test('refuses what is nowhere', async (t) => {
    t.match(message(await server.send(`${core}/services/ftp:s:web/proxy/`)), 'invalid service request "ftp:s:web"')
    t.match(message(await server.send(`${core}/services/s:99/proxy/`)), 'no service port 99 found for service "s"')
    t.match(message(await server.send(`${core}/pods/none/proxy/`)), 'pods "none" not found')
    t.match(message(await server.send('/api/v1/nodes/https:none:1/proxy/x')), 'nodes "none" not found')
    const closed = await server.send(`${core}/pods/p:1/proxy/`)
    t.match(closed, {
      status: 503,
      body: { message: 'error trying to reach service: dial tcp 127.64.0.9:1: connect: connection refused' },
    })
    await merge(server, `${core}/pods/p/status`, { status: { podIP: '169.254.169.254' } })
    t.equal(message(await server.send(`${core}/pods/p/proxy/`)), 'address not allowed')
  })
})

t.test('bindings and component statuses are nowhere stored', async (t) => {
  const server = await startTestApiServer(t)
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] }
  for (const name of ['a', 'b']) await post(server, `${core}/pods`, { metadata: { name }, spec })
  const target = { kind: 'Node', name: 'n' }
  t.equal((await post(server, `${core}/bindings`, { metadata: { name: 'a' }, target })).status, 201)
  t.match((await server.send(`${core}/pods/a`)).body, { spec: { nodeName: 'n' } })
  t.equal((await server.send(`${core}/bindings`)).status, 405)
  const wrong = await post(server, `${core}/pods/b/binding`, { metadata: { name: 'a' }, target })
  t.equal(message(wrong), 'name in URL does not match name in Binding object')
  const other = await post(server, `${core}/pods/b/binding`, { metadata: { name: 'b', uid: 'x' }, target })
  t.match(message(other), 'Precondition failed: UID in precondition: x')
  const list = await server.send('/api/v1/componentstatuses')
  t.match(list, {
    headers: { warning: /deprecated/ },
    body: { kind: 'ComponentStatusList', items: [{}, {}, { metadata: { name: 'etcd-0' } }] },
  })
  t.equal((await server.send('/api/v1/componentstatuses/none')).status, 404)
  t.match(
    message(await server.send('/api/v1/componentstatuses?watch=1')),
    'watch is not supported on resources of kind "componentstatuses"',
  )
})

t.test('owners of the replicas, seen as a Scale and kept on the object', async (t) => {
  const replicas = { 'f:spec': { 'f:replicas': {} } }
  const more = { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } }
  const entry = (manager: string, fieldsV1: object, rest: Partial<ManagedFieldsEntry> = {}) =>
    ({
      manager,
      operation: 'Apply',
      apiVersion: 'apps/v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1,
      ...rest,
    }) as ManagedFieldsEntry
  const object = {
    metadata: { managedFields: [entry('a', more), entry('b', { 'f:spec': { 'f:paused': {} } })] },
  } as KubeObject
  t.match(scaleOwners(object, replicas), [{ manager: 'a', apiVersion: 'autoscaling/v1', fieldsV1: replicas }])
  t.equal(scaleOwners(object, replicas).length, 1)
  t.strictSame(
    withScaleOwners(object, scaleOwners(object, replicas), { apiVersion: 'apps/v1', path: replicas }),
    object.metadata.managedFields,
    'nothing has changed',
  )
  const taken = withScaleOwners(
    object,
    [entry('c', replicas, { apiVersion: 'autoscaling/v1', subresource: 'scale' })],
    { apiVersion: 'apps/v1', path: replicas },
  )
  t.match(taken, [
    { manager: 'c', subresource: 'scale', apiVersion: 'apps/v1', fieldsV1: replicas, time: undefined },
    { manager: 'a', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
    { manager: 'b' },
  ])
})

t.test('what a job may say of itself', async (t) => {
  type Job = Parameters<typeof validateJobStatus>[0]
  const job = (status: object, spec: object = {}) => ({ metadata: {}, spec, status }) as unknown as Job
  const holds = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: 'True' })) })
  const check = (now: Job, before: Job): string[] => {
    const errors: FieldErrors = []
    validateJobStatus(now, before, errors)
    return errors.map((error) => `${error.field}: ${errorBody(error)}`)
  }
  const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:01Z' }
  const done = job({ ...holds('SuccessCriteriaMet', 'Complete'), ...times })
  t.strictSame(check(done, job({})), [])
  t.strictSame(check(done, done), [])
  t.strictSame(check(job({ ...times, active: 1 }), done), [
    'status.completionTime: Invalid value: "2026-01-01T00:00:01Z": cannot set completionTime when there is no Complete=True condition',
    'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
    'status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
  ])
  t.match(check(job({ ...holds('Failed'), startTime: times.startTime }), job({})), [
    'status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition',
  ])
  t.match(check(job({ failed: 1 }), job({ failed: 2 })), [
    'status.failed: Invalid value: 1: cannot decrease the failed counter',
  ])
  t.match(check(job({ ready: 2, active: 1 }), job({})), [
    'status.ready: Invalid value: 2: cannot set more ready pods than active',
  ])
  t.strictSame(check(job({ ...holds('Suspended') }), job({})), [])
})

t.test('a watch through a WebSocket', async (t) => {
  const server = await startTestApiServer(t)
  const open = async (query: string, protocols: string[] = []) => {
    const url = `wss://127.0.0.1:${server.port}${core}/configmaps?watch=true${query}`
    const socket = new WebSocket(url, protocols, server.tls)
    t.teardown(() => socket.terminate())
    const messages: string[] = []
    socket.on('message', (data) => messages.push(String(data)))
    await once(socket, 'open')
    return { socket, messages }
  }
  const { socket, messages } = await open('&resourceVersion=0')
  await post(server, `${core}/configmaps`, { metadata: { name: 'a' } })
  await post(server, `${core}/configmaps`, { metadata: { name: 'b' } })
  while (messages.length < 2) await once(socket, 'message')
  t.match(
    messages.map((text) => JSON.parse(text)),
    [
      { type: 'ADDED', object: { metadata: { name: 'a' } } },
      { type: 'ADDED', object: { metadata: { name: 'b' } } },
    ],
  )
  socket.close()
  await once(socket, 'close')
  const short = await open('&timeoutSeconds=1', ['base64.binary.k8s.io'])
  t.equal(short.socket.protocol, 'base64.binary.k8s.io')
  await once(short.socket, 'close')
  t.pass('the server ends it when its time is over')
})

t.test('what a server tells of itself', async (t) => {
  const server = await startTestApiServer(t)
  await post(server, `${core}/configmaps`, { metadata: { name: 'a' } })
  for (let index = 0; index < 3; index++) await server.send(`${core}/configmaps/none-${index}`)
  const metrics = await server.send('/metrics')
  t.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  const text = String(metrics.body)
  t.match(
    text,
    'apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1',
  )
  t.match(text, /apiserver_request_total\{code="404",[^}]*resource="configmaps",[^}]*verb="GET"[^}]*\} 3/)
  t.match(
    text,
    /apiserver_request_duration_seconds_bucket\{[^}]*le="\+Inf",resource="configmaps",[^}]*verb="GET"[^}]*\} 3/,
  )
  t.match(text, 'apiserver_resource_objects{group="",resource="configmaps"} 1')
  t.match(text, /process_resident_memory_bytes \d+/)
  t.match(text, 'kubernetes_feature_enabled{name="PodTerminationReason",stage="BETA"} 1')
  const plain = { headers: { accept: 'text/plain' } }
  t.match(String((await server.send('/flagz', plain)).body), 'service-cluster-ip-range=10.96.0.0/16')
  t.match(String((await server.send('/statusz', plain)).body), 'Binary version=1.36.3')
  t.equal((await server.send('/statusz', { headers: { accept: 'application/json' } })).status, 406)
  t.equal((await server.send('/version', { headers: { 'audit-id': 'mine' } })).headers['audit-id'], 'mine')
  const { paths } = (await server.send('/')).body as { paths: string[] }
  t.ok(['/readyz/etcd', '/metrics', '/apis/apps/v1'].every((path) => paths.includes(path)))
})

t.test('pages of origins that may ask', async (t) => {
  const response = {
    writeHead(_status: number, headers: object) {
      Object.assign(seen, headers)
      return response
    },
    end: () => {},
  }
  const seen: Record<string, unknown> = {}
  const cors = createCors(['^https://good\\.example$'])
  const ask = (method: string, origin?: string) => {
    for (const key of Object.keys(seen)) delete seen[key]
    return cors({ method, headers: { origin } } as never, response as never)
  }
  t.equal(ask('OPTIONS', 'https://good.example'), true)
  t.match(seen, { 'access-control-allow-origin': 'https://good.example', 'access-control-allow-methods': /PATCH/ })
  t.equal(ask('OPTIONS', 'https://bad.example'), false)
  t.equal(ask('GET'), false)
  t.strictSame(seen, {})
  t.equal(ask('GET', 'https://good.example'), false)
  response.writeHead(200, { vary: 'Accept' })
  t.match(seen, { 'access-control-allow-origin': 'https://good.example', vary: 'Accept, Origin' })
})

t.test('too much to do', async (t) => {
  const schema = (name: string, precedence: number, level: string, by: string, group: string) =>
    ({
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name: level },
        matchingPrecedence: precedence,
        distinguisherMethod: { type: by },
        rules: [
          {
            subjects: [{ kind: 'Group', group: { name: group } }],
            resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
          },
        ],
      },
    }) as unknown as KubeObject
  const level = (name: string, shares: number, limitResponse: object) =>
    ({
      metadata: { name },
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: shares, limitResponse } },
    }) as unknown as KubeObject
  const objects: Record<string, KubeObject[]> = {
    flowschemas: [
      schema('all', 9, 'queued', 'ByUser', 'system:authenticated'),
      schema('strict', 1, 'strict', 'ByUser', 'strict'),
    ],
    prioritylevelconfigurations: [
      level('queued', 1, { type: 'Queue', queuing: { queues: 1, queueLengthLimit: 3 } }),
      level('strict', 1, { type: 'Reject' }),
    ],
  }
  const clock = createVirtualClock()
  const control = new FlowControl({ lookupAll: ({ plural }) => objects[plural] ?? [], clock, seats: 2 })
  const ask = (name: string, ...groups: string[]) =>
    control.admit({
      user: { name, groups: [...groups, 'system:authenticated'] },
      verb: 'get',
      path: '',
      resource: { group: '', resource: 'pods', namespace: 'a' },
    })
  t.equal(ask('root', 'system:masters'), undefined, 'administrators never wait')
  const strict = ask('x', 'strict') as () => void
  t.type(strict, 'function')
  const order: string[] = []
  const wait = async (name: string): Promise<void> => {
    const release = await ask(name)
    order.push(release === 'rejected' ? `${name} rejected` : name)
    if (typeof release === 'function') release()
  }
  const first = ask('a') as () => void
  const waiting = [wait('b'), wait('b'), wait('c')]
  t.equal(await ask('d'), 'rejected', 'nobody more may wait')
  first()
  await Promise.all(waiting)
  t.strictSame(order, ['b', 'c', 'b'], 'each flow in its turn')
  const refused = Promise.resolve(ask('y', 'strict'))
  t.equal(await refused, 'rejected', 'a level without queues refuses')
  strict()
  t.type(await ask('y', 'strict'), 'function')
  const held = ask('e') as () => void
  const late = wait('f')
  await clock.advance(15_000)
  await late
  t.equal(order.at(-1), 'f rejected', 'who has waited too long is sent away')
  held()
  t.match(control.families().find(({ name }) => name.endsWith('rejected_requests_total'))?.samples, [
    { labels: { reason: 'queue-full' } },
    { labels: { reason: 'queue-full' } },
    { labels: { reason: 'time-out' } },
  ])
})

t.test('what is answered and not stored has no Table', async (t) => {
  const server = await startTestApiServer(t)
  const containers = [{ name: 'c', image: 'i' }]
  await post(server, `${core}/pods`, {
    metadata: { name: 'p' },
    spec: { automountServiceAccountToken: false, containers },
  })
  const asks = { resourceAttributes: { verb: 'get', resource: 'pods' } }
  const bound = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
  const cases: [path: string, body: object][] = [
    ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: asks }],
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { ...asks, user: 'u' } }],
    ['/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { spec: { namespace: 'default' } }],
    ['/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }],
    ['/apis/authentication.k8s.io/v1/selfsubjectreviews', {}],
    [`${core}/serviceaccounts/default/token`, { spec: {} }],
    [`${core}/pods/p/eviction?dryRun=All`, { metadata: { name: 'p' } }],
    [`${core}/pods/p/binding?dryRun=All`, bound],
    [`${core}/bindings?dryRun=All`, bound],
  ]
  const shape = (as: string) => `application/json;as=${as};g=meta.k8s.io;v=v1`
  const table = shape('Table')
  for (const [path, body] of cases) {
    const ask = (accept: string) => server.send(path, { method: 'POST', body, headers: { accept } })
    const refused = await ask(table)
    t.match(refused, { status: 406, body: { reason: 'NotAcceptable' } }, path)
    t.match(message(refused), /^only the following media types are accepted: application\/json, application\/yaml, /)
    t.match(await ask(`${table},application/json`), { status: 201 }, `${path}, or as it is`)
    const partial = (await ask(shape('PartialObjectMetadata'))).body as KubeObject
    t.match(partial.kind, /^(PartialObjectMetadata|Status)$/, `${path}: ${partial.kind}`)
    t.notOk('spec' in partial, `${path}: metadata alone`)
  }
})
