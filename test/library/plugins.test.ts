/** Plugins of Fastify in the API server, as a test suite uses them: real requests over both protocols, and `inject`. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { connect as tlsConnect } from 'node:tls'
import t from 'tap'
import { WebSocket } from 'ws'
import { type Cluster, type ClusterPlugin, resources, StatusError, startCluster } from '../../library/index.ts'
import { parseMetrics } from '../harness/metrics.ts'
import { until } from '../harness/until.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps } = resources

interface Heard {
  status: number
  headers: Record<string, unknown>
  body: string
}
type Send = (cluster: Cluster, path: string, options?: { method?: string; body?: string }) => Promise<Heard>

const http1: Send = async ({ access, url }, path, { method = 'GET', body } = {}) => {
  const { ca, cert, key } = access
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const options: RequestOptions = { method, ca, cert, key, headers, agent: false }
  const sent = httpsRequest(`${url}${path}`, options).end(body)
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode, headers: answer.headers, body: await textOf(answer) }
}

const http2: Send = async ({ access, url }, path, { method = 'GET', body } = {}) => {
  const session = connect(url, { ca: access.ca, cert: access.cert, key: access.key })
  try {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const stream = session.request({ ':path': path, ':method': method, ...type }, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    const [headers] = await once(stream, 'response')
    return { status: headers[':status'], headers, body: await textOf(stream) }
  } finally {
    session.destroy()
  }
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const part of stream) text += part
  return text
}

const protocols = { 'HTTP/1.1': http1, 'HTTP/2': http2 }
/** Of a request that is refused or fails. */
const statusIn = ({ body }: Heard): unknown => JSON.parse(body)

t.test('routes, hooks and decorators of a plugin', async (t) => {
  const seen: string[] = []
  const plugin: ClusterPlugin = async (app) => {
    app.decorate('greeting', 'hello')
    app.get('/my', async (request) => ({
      says: (app as unknown as { greeting: string }).greeting,
      to: request.kubernetes.user?.name,
    }))
    app.post('/my', async (request) => ({ got: request.body }))
    app.get('/streamed', (_request, reply) => reply.send(new Blob(['in parts']).stream()))
    app.get('/namespaces', async () => (await app.kubernetes.client.list(resources.namespaces)).items.length)
    app.addHook('onRequest', async ({ kubernetes: { user, verb, resource, path } }) => {
      seen.push(`${user?.name} ${verb} ${resource?.resource ?? path}`)
    })
    app.addHook('onSend', async (_request, reply) => void reply.header('x-mine', 'yes'))
  }
  const cluster = await start(t, { apiOnly: true, plugins: [plugin] })
  const url = `/api/v1/namespaces/${namespace}/configmaps`
  for (const [protocol, send] of Object.entries(protocols)) {
    seen.length = 0
    const mine = await send(cluster, '/my')
    t.match(
      mine,
      { status: 200, body: '{"says":"hello","to":"kubernetes-admin"}', headers: { 'x-mine': 'yes' } },
      protocol,
    )
    t.match(await send(cluster, '/my', { method: 'POST', body: '{"a":[1]}' }), { body: '{"got":{"a":[1]}}' }, protocol)
    t.match(await send(cluster, '/streamed'), { body: 'in parts' }, protocol)
    t.match(await send(cluster, '/namespaces'), { body: '4' }, protocol)
    const body = JSON.stringify(configMap(protocol === 'HTTP/2' ? 'b' : 'a', { kept: 'as it is' }))
    t.match(await send(cluster, url, { method: 'POST', body }), { status: 201, headers: { 'x-mine': 'yes' } }, protocol)
    t.match(await send(cluster, `${url}/a`), { status: 200, headers: { 'x-mine': 'yes' } }, 'a stored object')
    t.match(await send(cluster, '/nowhere'), { status: 404, headers: { 'x-mine': 'yes' } }, 'what is not found')
    t.same(seen, [
      'kubernetes-admin get /my',
      'kubernetes-admin post /my',
      'kubernetes-admin get /streamed',
      'kubernetes-admin get /namespaces',
      'kubernetes-admin create configmaps',
      'kubernetes-admin get configmaps',
      'kubernetes-admin get /nowhere',
    ])
  }
})

t.test('a plugin is behind authentication and authorization', async (t) => {
  const seen: (string | undefined)[] = []
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.get('/my', async () => 'secret')
        app.addHook('onRequest', async ({ kubernetes }) => void seen.push(kubernetes.user?.name))
        app.addHook('onResponse', async ({ kubernetes }) => void seen.push(`answered ${kubernetes.user?.name}`))
      },
    ],
  })
  const { ca } = cluster.access
  const statusFor = async (headers: Record<string, string>): Promise<number> => {
    const [answer] = await once(httpsRequest(`${cluster.url}/my`, { ca, headers, agent: false }).end(), 'response')
    answer.resume()
    return answer.statusCode
  }
  t.equal(await statusFor({}), 403, 'anonymous')
  t.equal(await statusFor({ authorization: 'Bearer wrong' }), 401, 'bad credentials')
  await until(() => seen.length === 2, { what: 'both answers' })
  t.same(seen, ['answered system:anonymous', 'answered undefined'], 'only hooks of answers see what is refused')
  t.equal((await cluster.inject({ url: '/my', user: { name: 'jane' } })).statusCode, 403)
  const { client } = cluster
  const rules = [{ nonResourceURLs: ['/my'], verbs: ['get'] }]
  await client.create(resources.clusterRoles, { metadata: { name: 'mine' }, rules } as never)
  const apiGroup = 'rbac.authorization.k8s.io'
  await client.create({ ...resources.clusterRoles, plural: 'clusterrolebindings' }, {
    metadata: { name: 'mine' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'mine' },
    subjects: [{ apiGroup, kind: 'User', name: 'jane' }],
  } as never)
  t.match(await cluster.inject({ url: '/my', user: { name: 'jane' } }), { statusCode: 200, body: 'secret' })
})

t.test('plugins in each form of Fastify', async (t) => {
  const fastifyPlugin = Object.assign(async () => {}, {
    [Symbol.for('plugin-meta')]: { name: 'its-name', fastify: '5.x' },
  })
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      (app, _options, done) => {
        app.get('/callback', async () => 'callback')
        setImmediate(done)
      },
      (app) => void app.get('/synchronous', async () => 'synchronous'),
      fastifyPlugin,
      async (app) => {
        await app.register(async (scope) => void scope.get('/own', async () => 'own'), { prefix: '/scope' })
        app.get<{ Querystring: { size: number } }>(
          '/checked',
          { schema: { querystring: { type: 'object', properties: { size: { type: 'integer' } } } } },
          async ({ query }) => query,
        )
      },
    ],
  })
  for (const path of ['callback', 'synchronous']) t.match(await cluster.inject({ url: `/${path}` }), { body: path })
  t.match(await cluster.inject({ url: '/scope/own' }), { body: 'own' })
  t.match(await cluster.inject({ url: '/checked?size=3' }), { body: '{"size":3}' }, 'a schema converts')
  const refused = await cluster.inject({ url: '/checked?size=large' })
  t.match(refused.json(), {
    kind: 'Status',
    code: 400,
    reason: 'BadRequest',
    message: 'querystring/size must be integer',
  })
})

t.test('an API of its own, and a subresource that no kind has', async (t) => {
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.get('/apis/custom.metrics.k8s.io/v1beta2/nodes', async ({ kubernetes }) => kubernetes)
        app.get('/api/v1/namespaces/:namespace/pods/:name/dump', async ({ kubernetes }) => kubernetes)
      },
    ],
  })
  const nodes = await cluster.inject({ url: '/apis/custom.metrics.k8s.io/v1beta2/nodes' })
  t.match(nodes.json(), { verb: 'list', resource: { group: 'custom.metrics.k8s.io', resource: 'nodes' } })
  const dump = await cluster.inject({ url: '/api/v1/namespaces/x/pods/y/dump' })
  t.match(dump.json(), { verb: 'get', resource: { resource: 'pods', subresource: 'dump', namespace: 'x', name: 'y' } })
})

const fails = (message: string): never => {
  throw new Error(message)
}

t.test('a plugin with which the server cannot start', async (t) => {
  const here = /\(test\/library\/plugins\.test\.ts:\d+\)$/
  const wrong: readonly [ClusterPlugin, RegExp][] = [
    [
      async function mine() {
        fails('no config')
      },
      /^plugin mine threw when it was loaded: no config /,
    ],
    [() => fails('at once'), /^plugins\[0\] threw when it was loaded: at once /],
    [(_app, _options, done) => done(new Error('by done')), /^plugins\[0\] threw when it was loaded: by done /],
    [async (app) => void app.register(async () => fails('below')), /^plugins\[0\] threw when it was loaded: below /],
    [async (app) => void app.register(() => fails('below')), /^plugins\[0\] threw when it was loaded: below /],
    [
      async (app) => void app.addHook('onReady', async () => fails('late')),
      /^plugins\[0\] threw when it was loaded: late /,
    ],
    [
      async (app) => void app.setErrorHandler(() => {}),
      /^plugins\[0\] threw when it was loaded: Error Handler already set/,
    ],
  ]
  for (const [plugin, message] of wrong) {
    const error = await startCluster({ apiOnly: true, plugins: [plugin] }).catch((error) => error)
    t.match(error.message, message)
    t.match(error.message, here, 'where in its code')
    t.notMatch(error.message, '\n', 'one line')
  }
  const exists = /^plugins\[0\] adds a route that exists already: /
  const schema = { querystring: { type: 'no type' } }
  const routes: readonly [ClusterPlugin, RegExp][] = [
    [async (app) => void app.get('/healthz', async () => ''), exists],
    [async (app) => void app.get('/healthz/', async () => ''), exists],
    [async (app) => void app.get('/', async () => ''), exists],
    [async (app) => void app.get('/api/v1/pods', async () => ''), exists],
    [async (app) => void app.get('/api/v1/namespaces/:any/pods/:one', async () => ''), exists],
    [async (app) => void app.get('/api/v1/nodes/:name/status', async () => ''), exists],
    [async (app) => void app.get('/apis/:group/v1/:any', async () => ''), exists],
    [async (app) => void app.get('/x', async () => '').get('/x', async () => ''), exists],
    [async (app) => void app.setNotFoundHandler(() => {}), /^plugins\[0\] sets a not-found handler for all paths/],
    [async (app) => void app.get('/x', { schema }, async () => ''), /^plugins\[0\] has a schema that cannot be used: /],
  ]
  for (const [plugin, message] of routes) {
    await t.rejects(startCluster({ apiOnly: true, plugins: [plugin] }), { message })
  }
  const add: ClusterPlugin = async (app) => void app.get('/both', async () => '')
  await t.rejects(startCluster({ apiOnly: true, plugins: [add, async (app) => add(app, {}, () => {})] }), {
    message: 'plugins[1] adds a route that exists already: GET /both',
  })
  await t.rejects(startCluster({ plugins: 'mine.mjs' as never }), { message: /plugins must be a list of functions/ })
  await t.rejects(startCluster({ plugins: ['mine.mjs'] as never }), { message: /plugins must be a list of functions/ })
})

t.test('a plugin that throws in a request', async (t) => {
  const url = `/api/v1/namespaces/${namespace}/configmaps`
  let breaks = ''
  const failing = (hook: string) => async () => {
    if (breaks === hook) throw new Error(`in ${hook}`)
  }
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.get('/fails', async () => fails('in a handler'))
        app.get('/teapot', async () => {
          throw Object.assign(new Error('short and stout'), { statusCode: 418 })
        })
        app.get('/conflict', async () => {
          throw new StatusError({ code: 409, reason: 'Conflict', message: 'twice' })
        })
        app.addHook('onRequest', failing('onRequest'))
        app.addHook('preHandler', failing('preHandler'))
        app.addHook('onSend', failing('onSend'))
        app.addHook('onResponse', failing('onResponse'))
      },
    ],
  })
  const message = 'Internal error occurred: in '
  for (const [protocol, send] of Object.entries(protocols)) {
    t.match(
      statusIn(await send(cluster, '/fails')),
      { kind: 'Status', code: 500, message: `${message}a handler` },
      protocol,
    )
    t.match(await send(cluster, '/teapot'), { status: 418, body: /"kind":"Status".*short and stout/ }, protocol)
    t.match(await send(cluster, '/conflict'), { status: 409, body: /"reason":"Conflict"/ }, protocol)
    for (const hook of ['onRequest', 'preHandler', 'onSend']) {
      breaks = hook
      const { status, body } = await send(cluster, url)
      t.equal(status, 500, `${protocol}, ${hook}`)
      t.match(JSON.parse(body), { kind: 'Status', reason: 'InternalError', message: `${message}${hook}` })
    }
    breaks = 'onResponse'
    t.equal((await send(cluster, url)).status, 200, 'what throws after the answer harms no client')
    breaks = ''
    t.equal((await send(cluster, url)).status, 200, `${protocol}: others are answered`)
  }
})

t.test('a hook that keeps a request', async (t) => {
  let release = (): void => {}
  let kept = 0
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.addHook('onRequest', ({ kubernetes: { path } }, _reply, done) => {
          if (!path.includes('/kept')) return done()
          kept++
          release = done
        })
      },
    ],
  })
  const underWay = async (): Promise<number> => {
    const { body } = await cluster.inject({ url: '/metrics' })
    return parseMetrics(body).value('apiserver_current_inflight_requests', { request_kind: 'readOnly' }) ?? 0
  }
  const alone = await underWay()
  const path = `/api/v1/namespaces/kept/configmaps`
  const { ca, cert, key } = cluster.access
  const leaves = {
    'HTTP/1.1': async () => {
      const socket = tlsConnect({ host: '127.0.0.1', port: Number(new URL(cluster.url).port), ca, cert, key })
      socket.on('error', () => {})
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
      return () => socket.destroy()
    },
    'HTTP/2': async () => {
      const session = connect(cluster.url, { ca, cert, key })
      session.request({ ':path': path }).on('error', () => {})
      return () => session.destroy()
    },
    'a watch': async () => {
      const session = connect(cluster.url, { ca, cert, key })
      session.request({ ':path': `${path}?watch=1` }).on('error', () => {})
      return () => session.destroy()
    },
  }
  for (const [how, ask] of Object.entries(leaves)) {
    kept = 0
    const leave = await ask()
    await until(() => kept === 1, { what: `the hook keeps the request of ${how}` })
    const isLong = how === 'a watch'
    await until(async () => (await underWay()) === alone + (isLong ? 0 : 1), { what: 'its seat is taken' })
    leave()
    await until(async () => (await underWay()) === alone, { what: `its seat is free again (${how})` })
    release()
    await outside(t, cluster).list(configMaps, { namespace })
  }
  t.equal(await underWay(), alone)
})

t.test('a watch whose client leaves ends for hooks, too', async (t) => {
  const answered: string[] = []
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.addHook(
          'onResponse',
          async ({ kubernetes: { verb } }, reply) => void answered.push(`${verb} ${reply.statusCode}`),
        )
      },
    ],
  })
  const { ca, cert, key } = cluster.access
  const path = `/api/v1/namespaces/${namespace}/configmaps?watch=1`
  const session = connect(cluster.url, { ca, cert, key })
  const stream = session.request({ ':path': path })
  stream.on('error', () => {})
  await once(stream, 'response')
  t.same(answered, [])
  session.destroy()
  await until(() => answered.length > 0, { what: 'the end of the watch over HTTP/2' })
  const watch = httpsRequest(`${cluster.url}${path}`, { ca, cert, key, agent: false }).end()
  await once(watch, 'response')
  watch.on('error', () => {})
  watch.destroy()
  await until(() => answered.length > 1, { what: 'the end of the watch over HTTP/1.1' })
  const socket = new WebSocket(`${cluster.url.replace('https', 'wss')}${path}`, { ca, cert, key })
  await once(socket, 'open')
  socket.terminate()
  await until(() => answered.length > 2, { what: 'the end of the watch over a WebSocket' })
  t.same(answered, ['watch 200', 'watch 200', 'watch 101'])
})
