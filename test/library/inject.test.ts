/** `cluster.inject`: requests without a network, as a unit test makes them. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { type ClusterUser, type KubeList, type KubeObject, startCluster } from '../../library/index.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const url = `/api/v1/namespaces/${namespace}/configmaps`

t.test('requests of any user, through all that a request passes', async (t) => {
  const cluster = await start(t)
  const created = await cluster.inject({ method: 'POST', url, payload: configMap('a', { is: 'new' }) })
  t.match(created, { statusCode: 201, headers: { 'content-type': 'application/json' } })
  t.match(created.json(), { kind: 'ConfigMap', metadata: { name: 'a' } })
  const patched = await cluster.inject({
    method: 'PATCH',
    url: `${url}/a`,
    headers: { 'content-type': 'application/merge-patch+json' },
    payload: '{"data":{"is":"patched"}}',
  })
  t.match(patched.json(), { data: { is: 'patched' } })
  t.match((await cluster.inject({ url: `${url}/a` })).json(), { data: { is: 'patched' } })
  t.match(await cluster.inject({ method: 'HEAD', url }), { statusCode: 405 })
  t.match(await cluster.inject({ url: '/healthz' }), { statusCode: 200, body: 'ok' })
  t.match(await cluster.inject({ url: '/nowhere' }), { statusCode: 404, body: '404 page not found\n' })

  const whoAmI = async (user?: ClusterUser, headers?: Record<string, string>): Promise<unknown> => {
    const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' }
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const answer = await cluster.inject({ method: 'POST', url: path, payload: review, user, headers })
    return answer.json<{ status: { userInfo: unknown } }>().status.userInfo
  }
  t.match(await whoAmI(), { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] })
  t.same(await whoAmI({ name: 'jane', groups: ['dev'] }), { username: 'jane', groups: ['dev', 'system:authenticated'] })
  t.match(await whoAmI(undefined, { 'impersonate-user': 'joe' }), { username: 'joe' })
  t.match((await cluster.inject({ url, user: { name: 'jane' } })).json(), {
    code: 403,
    message: /User "jane" cannot list/,
  })
  t.match((await cluster.inject({ url, user: { name: 'system:anonymous' } })).json(), { code: 403 })

  cluster.journal.assert({ user: 'jane', verb: 'list', resource: 'configmaps', code: 403 }, 1)
  using _ = cluster.faults.add({ verb: 'list', resource: 'configmaps', then: { status: 503 } })
  t.match(await cluster.inject({ url }), { statusCode: 503 })
})

t.test('large answers come as a whole', async (t) => {
  const cluster = await start(t)
  const data = { text: 'x'.repeat(10_000) }
  for (let index = 0; index < 40; index++) {
    await cluster.client.create({ group: '', version: 'v1', plural: 'configmaps' }, configMap(`c${index}`, data))
  }
  const plain = await cluster.inject({ url })
  t.equal(plain.json<KubeList<KubeObject>>().items.length, 40)
  const packed = await cluster.inject({ url, headers: { 'accept-encoding': 'gzip' } })
  t.equal(gunzipSync(packed.rawBody).toString(), plain.body)
})

t.test('what has no end is refused, and so is what is no request', async (t) => {
  const cluster = await start(t)
  const pod = `/api/v1/namespaces/${namespace}/pods/web`
  for (const [asked, what] of [
    [`${url}?watch=true`, 'a watch'],
    [`/api/v1/watch/namespaces/${namespace}/configmaps`, 'a watch'],
    [`${pod}/log?follow=true`, 'a log that is followed'],
    [`${pod}/exec?command=ls`, 'exec'],
  ] as const) {
    await t.rejects(cluster.inject({ url: asked }), {
      message: `inject: ${what} has no end; use a client over the network`,
    })
  }
  t.match(await cluster.inject({ url: `${pod}/log` }), { statusCode: 404 })
  const wrong = (options: object) => cluster.inject(options as { url: string })
  await t.rejects(wrong({}), { message: 'inject: url must be a path such as /api/v1/pods, not undefined' })
  await t.rejects(wrong({ url: 'https://elsewhere/' }), { message: /url must be a path/ })
  await t.rejects(wrong({ url, method: 7 }), { message: 'inject: method must be a method of HTTP, not 7' })
  await t.rejects(wrong({ url, user: 'jane' }), { message: 'inject: user must be a map with a name, not "jane"' })
  await t.rejects(wrong({ url, body: {} }), { message: /^inject has no option body; / })
})

t.test('no client of the network can act as an injected request does', async (t) => {
  let seen: Record<string, string> = {}
  const cluster = await start(t, {
    apiOnly: true,
    plugins: [
      async (app) => {
        app.get('/mine', async ({ raw }) => {
          seen = raw.headers as Record<string, string>
          return 'secret'
        })
      },
    ],
  })
  t.match(await cluster.inject({ url: '/mine' }), { statusCode: 200, body: 'secret' })
  const { ca } = cluster.access
  const all = {
    ...seen,
    'x-remote-user': 'kubernetes-admin',
    'x-remote-group': 'system:masters',
    user: 'kubernetes-admin',
  }
  const [answer] = await once(httpsRequest(`${cluster.url}/mine`, { ca, headers: all, agent: false }).end(), 'response')
  answer.resume()
  t.equal(answer.statusCode, 403, 'with all headers of an injected request, over HTTP/1.1')
  const session = connect(cluster.url, { ca })
  const { host: _, ...headers } = all as Record<string, string>
  const [received] = await once(session.request({ ':path': '/mine', ...headers }), 'response')
  session.destroy()
  t.equal(received[':status'], 403, 'and over HTTP/2')
  await t.rejects(
    outside(t, cluster, { cert: undefined, key: undefined }).list({ group: '', version: 'v1', plural: 'pods' }),
    {
      code: 403,
    },
  )
})

t.test('a cluster that is closed answers nothing more', async (t) => {
  let kept = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    kept = resolve
  })
  const cluster = await startCluster({
    apiOnly: true,
    plugins: [async (app) => void app.get('/never', () => new Promise(() => kept()))],
  })
  const waiting = t.rejects(cluster.inject({ url: '/never' }), { message: 'the cluster has been closed' })
  await arrived
  await cluster.close()
  await waiting
  await t.rejects(cluster.inject({ url: '/healthz' }), { message: 'the cluster has been closed' })
})
