/** Every request of every client passes through the Fastify application: its hooks see them all, and it has a route for each path. */
import { writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { WebSocket } from 'ws'
import type { Http2Choice } from '../../apiserver/config.ts'
import { type Cluster, resources, startCluster } from '../../library/index.ts'
import { findKubectls, kubectl } from '../harness/kubectl.ts'
import { run } from '../harness/run.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'

let application: FastifyInstance | undefined
let broken = false
const stateDir = scratchFolder(t, 'every-request')

const start = (http2: Http2Choice): Promise<Cluster> =>
  startCluster({
    apiOnly: true,
    http2,
    stateDir: join(stateDir, http2),
    plugins: [
      async (app) => {
        application = app
        app.addHook('onRequest', async () => {
          if (broken) throw new Error('on purpose')
        })
      },
    ],
  })
const clusters = { own: await start('own'), node: await start('node') }
t.teardown(() => Promise.all(Object.values(clusters).map((cluster) => cluster.close())))

const pods = '/api/v1/namespaces/default/pods'
const exec = `${pods}/web/exec?command=ls&stdout=true`

/** The status that the client is told; 101 for another protocol. */
async function upgraded(cluster: Cluster, path: string, protocol: string): Promise<number> {
  const { ca, cert, key } = cluster.access
  const headers = { connection: 'Upgrade', upgrade: protocol, 'x-stream-protocol-version': 'v4.channel.k8s.io' }
  const asked = httpsRequest(`${cluster.url}${path}`, { ca, cert, key, headers, method: 'POST', agent: false }).end()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  asked.on('response', (answer) => resolve(answer.statusCode ?? 0))
  asked.on('upgrade', ({ statusCode = 0 }, socket) => {
    socket.destroy()
    resolve(statusCode)
  })
  asked.on('error', reject)
  return promise.finally(() => asked.destroy())
}

async function webSocket(cluster: Cluster, path: string, protocol: string[] = []): Promise<number> {
  const { ca, cert, key } = cluster.access
  const socket = new WebSocket(`${cluster.url.replace('https', 'wss')}${path}`, protocol, { ca, cert, key })
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  socket.on('open', () => resolve(101))
  socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
  socket.on('error', reject)
  return promise.finally(() => socket.terminate())
}

/** The code of the answer by curl, which must have spoken that version of HTTP. */
async function curl(cluster: Cluster, version: '1.1' | '2', path: string): Promise<number> {
  const { ca, cert, key } = cluster.access
  const given = Object.entries({ cacert: ca, cert, key }).flatMap(([name, text]) => {
    const file = join(stateDir, `${name}.pem`)
    writeFileSync(file, text ?? '')
    return [`--${name}`, file]
  })
  const asked = [`--http${version}`, '-sS', '-o', '/dev/null', '-w', '%{http_version} %{http_code}', ...given]
  const said = await run('curl', [...asked, `${cluster.url}${path}`])
  const [spoken, code] = said?.output.split(' ') ?? []
  return spoken === version ? Number(code) : 0
}

const injected = async (cluster: Cluster, url: string) => (await cluster.inject({ url })).statusCode

type Client = readonly [healthy: number, ask: (cluster: Cluster) => Promise<number>]
/** What each client is told where nothing is broken. */
const clients: Readonly<Record<string, Client>> = {
  'curl over HTTP/1.1': [200, (cluster) => curl(cluster, '1.1', pods)],
  'curl over HTTP/2': [200, (cluster) => curl(cluster, '2', pods)],
  'a path that is no resource': [200, (cluster) => injected(cluster, '/healthz')],
  'a path that is not there': [404, (cluster) => injected(cluster, '/nowhere')],
  'a watch over a WebSocket': [101, (cluster) => webSocket(cluster, `${pods}?watch=1`)],
  'exec over SPDY': [404, (cluster) => upgraded(cluster, exec, 'SPDY/3.1')],
  'exec over a WebSocket': [404, (cluster) => webSocket(cluster, exec, ['v4.channel.k8s.io'])],
  'without a network': [200, (cluster) => injected(cluster, pods)],
}

for (const [http2, cluster] of Object.entries(clusters)) {
  t.test(`a hook that throws makes every client fail, with --http2=${http2}`, async (t) => {
    const [newest] = findKubectls().slice(-1)
    if (!newest) skipOrFail(t, 'no kubectl on this machine')
    const get = async () => newest && (await kubectl(t, newest, cluster.kubeconfigFile, ['get', 'pods']))
    const version = await run('curl', ['--version'])
    if (!version?.output.includes('HTTP2')) skipOrFail(t, 'no curl with HTTP/2 on this machine')
    const present = Object.entries(clients).filter(
      ([name]) => !name.startsWith('curl') || version?.output.includes('HTTP2'),
    )
    for (const [client, [healthy, ask]] of present) t.equal(await ask(cluster), healthy, client)
    t.match(await get(), { code: 0 }, 'kubectl')
    broken = true
    t.teardown(() => {
      broken = false
    })
    for (const [client, [, ask]] of present) t.equal(await ask(cluster), 500, client)
    t.match(await get(), { code: 1, stderr: /Internal error occurred: on purpose/ }, 'kubectl')
    t.match(await cluster.client.list(resources.pods), { items: [] }, "the cluster's own client sends no request")
    broken = false
    for (const [client, [healthy, ask]] of present) t.equal(await ask(cluster), healthy, `${client}, again`)
  })
}

interface DiscoveredResource {
  name: string
  namespaced: boolean
  verbs: string[]
}

const methods: Readonly<Record<string, string>> = {
  create: 'POST',
  delete: 'DELETE',
  deletecollection: 'DELETE',
  get: 'GET',
  list: 'GET',
  patch: 'PATCH',
  update: 'PUT',
  watch: 'GET',
}

/** `POST /api/v1/namespaces/default/pods/web/eviction` for `pods/eviction` and `create`. */
function pathOf(root: string, { name, namespaced }: DiscoveredResource, verb: string): string {
  const [plural, subresource] = name.split('/')
  const collection = `${root}${namespaced ? '/namespaces/default' : ''}/${plural}`
  if (subresource) return `${collection}/web/${subresource}`
  return ['create', 'deletecollection', 'list', 'watch'].includes(verb) ? collection : `${collection}/web`
}

t.test('every path of discovery has a route', async (t) => {
  const app = application!
  const json = async <Body>(url: string): Promise<Body> => (await clusters.own.inject({ url })).json<Body>()
  t.notOk(app.findRoute({ method: 'GET', url: '/nowhere' }), 'one that is not there has none')

  const { paths } = await json<{ paths: string[] }>('/')
  t.ok(paths.length > 50, `${paths.length} paths of /`)
  for (const url of ['/', ...paths]) {
    if (!app.findRoute({ method: 'GET', url })) t.fail(`no route for ${url}`)
  }

  const { groups } = await json<{ groups: { versions: { groupVersion: string }[] }[] }>('/apis')
  const roots = [
    '/api/v1',
    ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`)),
  ]
  let count = 0
  for (const root of roots) {
    const { resources } = await json<{ resources: DiscoveredResource[] }>(root)
    for (const resource of resources) {
      for (const verb of resource.verbs) {
        count++
        const [method, url] = [methods[verb] ?? t.fail(`what is ${verb}?`), pathOf(root, resource, verb)]
        if (!app.findRoute({ method: String(method) as 'GET', url })) t.fail(`no route for ${method} ${url}`)
      }
    }
  }
  t.ok(count > 500, `${count} verbs of resources and subresources`)
})

t.test('the routes are a table that can be printed', (t) => {
  const printed = application!.printRoutes({ commonPrefix: false })
  for (const pattern of [':group', ':version', 'healthz', 'openapi']) t.match(printed, pattern)
  t.end()
})
