import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { V1APIService } from '@kubernetes/client-node'
import t from 'tap'
import type { WithMeta } from '../../../shared/api/types.ts'
import { type AggregatedServer, startAggregatedServer } from '../../harness/aggregated-server.ts'
import { startTestApiServer, type TestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'

type APIService = WithMeta<V1APIService>

const path = '/apis/apiregistration.k8s.io/v1/apiservices'
const name = 'v1.wardle.example.com'
const below = '/apis/wardle.example.com/v1'

async function condition(server: TestApiServer) {
  const { body } = await server.send(`${path}/${name}`)
  const [found] = (body as APIService).status?.conditions ?? []
  return { status: found?.status, reason: found?.reason, message: found?.message }
}

const reached = (server: TestApiServer, reason: string) =>
  until(
    async () => {
      const found = await condition(server)
      return found.reason === reason ? found : undefined
    },
    { what: reason, timeoutMs: 15_000 },
  )

const json = (value: unknown) => (_request: IncomingMessage, response: ServerResponse) =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(value))

const service = (port = 443, type = 'ClusterIP') => ({
  metadata: { name: 'api', namespace: 'wardle' },
  spec: { type, ports: [{ name: 'https', port }] },
})

function slice({ address, port }: AggregatedServer, { ready = true, portName = 'https' } = {}) {
  return {
    metadata: { name: 'api-1', namespace: 'wardle', labels: { 'kubernetes.io/service-name': 'api' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready } }],
    ports: [{ name: portName, port, protocol: 'TCP' }],
  }
}

t.test('an APIService with a Service', async (t) => {
  const server = await startTestApiServer(t)
  const clientCa = readFileSync(join(server.pkiFolder, 'front-proxy-ca.crt'), 'utf8')
  const backend = await startAggregatedServer(t, { clientCa, serverName: 'api.wardle.svc' })
  backend.answers.set(below, json({ kind: 'APIResourceList', groupVersion: 'wardle.example.com/v1', resources: [] }))
  const post = (url: string, body: object) => server.send(url, { method: 'POST', body })
  const put = (url: string, body: object) =>
    server.send(url, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body })
  const slices = '/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices'
  await post('/api/v1/namespaces', { metadata: { name: 'wardle' } })
  await post(path, {
    metadata: { name },
    spec: {
      group: 'wardle.example.com',
      version: 'v1',
      groupPriorityMinimum: 2000,
      versionPriority: 200,
      service: { namespace: 'wardle', name: 'api' },
      caBundle: backend.caBundle,
    },
  })

  await t.test('says why its server cannot be asked, in the order of the checks', async (t) => {
    t.match(await reached(server, 'ServiceNotFound'), {
      status: 'False',
      message: 'service/api in "wardle" is not present',
    })
    const answer = await server.send(`${below}/flunders`)
    t.match(answer, { status: 503, body: 'service unavailable\n' })
    t.match(answer.headers, { 'content-type': 'text/plain; charset=utf-8' })
    await post('/api/v1/namespaces/wardle/services', service(8443))
    t.match(await reached(server, 'ServicePortError'), {
      message: 'service/api in "wardle" is not listening on port 443',
    })
    await put('/api/v1/namespaces/wardle/services/api', { spec: service().spec })
    t.match(await reached(server, 'EndpointsNotFound'), {
      message: 'cannot find endpointslices for service/api in "wardle"',
    })
    await post(slices, slice(backend, { portName: 'other' }))
    t.match(await reached(server, 'MissingEndpoints'), {
      message: 'endpointslices for service/api in "wardle" have no addresses with port name "https"',
    })
    await put(`${slices}/api-1`, { ports: [{ name: 'https', port: 1, protocol: 'TCP' }] })
    const url = `https://${backend.address}:1${below}`
    t.equal(
      (await reached(server, 'FailedDiscoveryCheck')).message,
      `failing or missing response from ${url}: Get "${url}": dial tcp ${backend.address}:1: connect: connection refused`,
    )
    await put(`${slices}/api-1`, slice(backend))
    t.match(await reached(server, 'Passed'), { status: 'True', message: 'all checks passed' })
  })

  await t.test('passes requests on, and says who asks', async (t) => {
    backend.answers.set(`${below}/flunders`, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        response.writeHead(201, { 'content-type': 'text/odd', 'access-control-allow-origin': '*', 'x-own': 'yes' })
        response.end(`got ${Buffer.concat(chunks)}`)
      })
    })
    const answer = await server.send(`${below}/flunders?dryRun=All`, {
      method: 'POST',
      headers: {
        'x-remote-user': 'somebody-else',
        'x-remote-group': 'system:masters',
        'x-remote-extra-scopes': 'all',
        'impersonate-user': 'jane',
        'impersonate-group': 'developers',
        'impersonate-extra-odd%2fkey': 'ä',
        'x-own': 'passed',
      },
      body: '{"a":1}',
    })
    t.match(answer, { status: 403 }, 'jane may not')
    const roles = '/apis/rbac.authorization.k8s.io/v1'
    const role = { rules: [{ apiGroups: ['wardle.example.com'], resources: ['*'], verbs: ['*'] }] }
    await post(`${roles}/clusterroles`, { metadata: { name: 'wardle' }, ...role })
    await post(`${roles}/clusterrolebindings`, {
      metadata: { name: 'wardle' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'wardle' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    })
    const headers = {
      'x-remote-user': 'somebody-else',
      'x-remote-group': 'system:masters',
      'x-remote-extra-scopes': 'all',
      'impersonate-user': 'jane',
      'impersonate-group': 'developers',
      'impersonate-extra-odd%2fkey': 'value',
      'x-own': 'passed',
    }
    const again = await server.send(`${below}/flunders?dryRun=All`, { method: 'POST', headers, body: '{"a":1}' })
    t.match(again, { status: 201, body: 'got {"a":1}' })
    t.equal(again.headers['x-own'], 'yes')
    t.equal(again.headers['access-control-allow-origin'], undefined)
    const [request] = backend.requests
    t.match(request, { url: `${below}/flunders?dryRun=All`, method: 'POST', peer: 'front-proxy-client' })
    t.match(request?.headers, {
      'x-remote-user': 'jane',
      'x-remote-group': 'developers, system:authenticated',
      'x-remote-extra-odd%2fkey': 'value',
      'x-own': 'passed',
      host: `${backend.address}:${backend.port}`,
    })
    for (const name of ['x-remote-extra-scopes', 'impersonate-user', 'authorization'])
      t.equal(request?.headers[name], undefined, name)
  })

  await t.test('streams and upgraded connections pass', async (t) => {
    backend.answers.set(`${below}/streams`, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"type":"ADDED"}\n')
    })
    const controller = new AbortController()
    const { request } = await import('node:https')
    const { hostname, port } = new URL(`https://${server.host}:${server.port}`)
    const first = await new Promise<string>((resolve, reject) => {
      const asked = request(
        { hostname, port, path: `${below}/streams?watch=true`, ...server.tls, signal: controller.signal },
        (response) => response.once('data', (chunk: Buffer) => resolve(String(chunk))),
      )
      asked.on('error', reject)
      asked.end()
    })
    t.equal(first, '{"type":"ADDED"}\n', 'before the answer has an end')
    controller.abort()
    backend.server.on('upgrade', (request: IncomingMessage, socket) => {
      t.equal(request.headers['x-remote-user'], 'kubernetes-admin')
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n')
      socket.on('data', (data: Buffer) => socket.write(`echo ${data}`))
      socket.on('error', () => socket.destroy())
    })
    const echoed = await new Promise<string>((resolve, reject) => {
      const asked = request({
        hostname,
        port,
        path: `${below}/namespaces/a/flunders/b/exec`,
        ...server.tls,
        headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' },
      })
      asked.on('upgrade', (_response, socket) => {
        socket.write('hello')
        socket.once('data', (data: Buffer) => {
          socket.destroy()
          resolve(String(data))
        })
      })
      asked.on('error', reject)
      asked.end()
    })
    t.equal(echoed, 'echo hello')
  })

  await t.test('discovery and OpenAPI show what its server serves', async (t) => {
    const resources = [
      { name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs: ['get', 'list'] },
      { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get'] },
    ]
    backend.answers.set(below, json({ kind: 'APIResourceList', groupVersion: 'wardle.example.com/v1', resources }))
    const v3 = 'apis/wardle.example.com/v1'
    const serverRelativeURL = `/openapi/v3/${v3}?hash=1`
    backend.answers.set('/openapi/v3', json({ paths: { [v3]: { serverRelativeURL } } }))
    backend.answers.set(`/openapi/v3/${v3}`, json({ openapi: '3.0.0' }))
    const ref = (name: string) => ({ $ref: `#/definitions/${name}` })
    const own = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
    backend.answers.set(
      '/openapi/v2',
      json({
        swagger: '2.0',
        paths: { [`${below}/flunders`]: { get: { schema: ref('Flunder') } }, '/apis/other/v1/x': {} },
        definitions: { Flunder: { properties: { metadata: ref(own) } }, [own]: { type: 'odd' }, Other: {} },
      }),
    )
    await put(`${path}/${name}`, { spec: { groupPriorityMinimum: 2001 } })
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const entry = await until(
      async () => {
        const { body } = await server.send('/apis', { headers: { accept } })
        const { items } = body as { items: { metadata: { name: string }; versions: { resources: object[] }[] }[] }
        const index = items.findIndex(({ metadata }) => metadata.name === 'wardle.example.com')
        return items[index]?.versions[0]?.resources.length === 1 ? items[index] : undefined
      },
      { what: 'its resources' },
    )
    t.match(entry, {
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'flunders',
              responseKind: { group: '', version: '', kind: 'Flunder' },
              scope: 'Namespaced',
              subresources: [{ subresource: 'status', verbs: ['get'] }],
            },
          ],
        },
      ],
    })
    const { body: group } = await server.send('/apis/wardle.example.com')
    t.match(group, { kind: 'APIGroup', preferredVersion: { groupVersion: 'wardle.example.com/v1' } })
    const listed = async () => (await server.send('/openapi/v3')).body as { paths: Record<string, object> }
    await until(async () => (await listed()).paths[v3], { what: 'its OpenAPI' })
    t.match((await listed()).paths[v3], { serverRelativeURL })
    t.match((await server.send(serverRelativeURL)).body, { openapi: '3.0.0' })
    type Swagger = { paths: Record<string, object>; definitions: Record<string, object> }
    const swagger = async () => (await server.send('/openapi/v2')).body as Swagger
    const merged = await until(
      async () => {
        const document = await swagger()
        return `${below}/flunders` in document.paths ? document : undefined
      },
      { what: 'its Swagger' },
    )
    t.same(merged.definitions.Flunder, { properties: { metadata: ref(`${own}_v2`) } })
    t.same(merged.definitions[`${own}_v2`], { type: 'odd' })
    t.notOk('Other' in merged.definitions || '/apis/other/v1/x' in merged.paths)
  })

  await t.test('a hostile server costs its clients only', async (t) => {
    backend.answers.set(`${below}/hangs`, () => {})
    backend.answers.set(`${below}/cut`, (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half')
      response.socket?.destroySoon()
    })
    const controller = new AbortController()
    const { request } = await import('node:https')
    const url = { hostname: server.host, port: server.port, ...server.tls, signal: controller.signal }
    const hanging = request({ ...url, path: `${below}/hangs` }).on('error', () => {})
    hanging.end()
    await until(() => backend.requests.some((one) => one.url === `${below}/hangs`), { what: 'the request' })
    t.equal((await server.send('/api/v1/namespaces/default')).status, 200, 'built-in requests do not wait')
    controller.abort()
    await t.rejects(server.send(`${below}/cut`), 'an answer that breaks off does so for the client')
    for (const garbage of [
      '[]',
      '{',
      'null',
      '{"items":[null,{"versions":[7]}],"resources":{"a":1}}',
      'x'.repeat(5e6),
    ]) {
      backend.answers.set('/apis', (_request, response) => {
        response.setHeader('content-type', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
        response.end(garbage)
      })
      await put(`${path}/${name}`, { spec: { groupPriorityMinimum: 1000 + (garbage.length % 1000) } })
      t.equal((await server.send('/apis')).status, 200)
    }
    backend.answers.delete('/apis')
  })

  await t.test('a server whose certificate is not trusted, unless that does not matter', async (t) => {
    await put(`${path}/${name}`, { spec: { caBundle: null } })
    t.match((await reached(server, 'FailedDiscoveryCheck')).message, /x509: certificate signed by unknown authority/)
    await put(`${path}/${name}`, { spec: { insecureSkipTLSVerify: true } })
    await reached(server, 'Passed')
  })

  await t.test('a Service that stands for a name outside leads there, at any port', async (t) => {
    await server.send(`${slices}/api-1`, { method: 'DELETE' })
    await reached(server, 'EndpointsNotFound')
    const outside = {
      type: 'ExternalName',
      externalName: backend.address,
      clusterIP: null,
      clusterIPs: null,
      ports: null,
    }
    t.match(await put('/api/v1/namespaces/wardle/services/api', { spec: outside }), { status: 200 })
    await put(`${path}/${name}`, { spec: { service: { port: backend.port } } })
    await reached(server, 'Passed')
    t.match(await server.send(below), { status: 200, body: { kind: 'APIResourceList' } })
  })

  await t.test('a deleted APIService is no longer served', async () => {
    await server.send(`${path}/${name}`, { method: 'DELETE' })
    await until(async () => (await server.send(`${below}/flunders`)).status === 404, { what: '404' })
  })
})
