import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { scaleOwners, withScaleOwners } from '../../apiserver/http/subresources/scale-owners.ts'
import type { ManagedFieldsEntry } from '../../apiserver/patch/managed-fields.ts'
import { validateJobStatus } from '../../apiserver/resources/job/validate-status.ts'
import { errorBody } from '../../apiserver/validation/field-error.ts'
import type { FieldErrors } from '../../apiserver/validation/field-errors.ts'
import type { KubeObject, Status } from '../../shared/api/types.ts'
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

  t.test('joins those who want the connection', async (t) => {
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
    t.match(message(await server.send(`${core}/services/s/proxy/`)), 'no endpoints available for service "s"')
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

t.test('who owns the replicas, seen as a Scale and kept on the object', async (t) => {
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
  t.match(scaleOwners(object), [{ manager: 'a', apiVersion: 'autoscaling/v1', fieldsV1: replicas }])
  t.equal(scaleOwners(object).length, 1)
  t.strictSame(
    withScaleOwners(object, scaleOwners(object), 'apps/v1'),
    object.metadata.managedFields,
    'nothing has changed',
  )
  const taken = withScaleOwners(
    object,
    [entry('c', replicas, { apiVersion: 'autoscaling/v1', subresource: 'scale' })],
    'apps/v1',
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
