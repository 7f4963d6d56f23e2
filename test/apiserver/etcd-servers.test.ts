import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const configmaps = '/api/v1/namespaces/default/configmaps'
const configmap = (name: string, data: object = {}) => ({ metadata: { name }, data })
const admin = { name: 'kubernetes-admin', groups: ['system:masters'] }

async function startServer(t: Test, url: string): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage })
}

const post = (server: TestApiServer, path: string, body: object) => server.send(path, { method: 'POST', body })

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test(`two API servers on one etcd ${program.version}`, async (t) => {
    const etcd = await startEtcd(t, program)
    // What etcd tells the second server comes late.
    const { port } = await startTcpProxy(t, etcd.url, { delayMs: 20 })
    const [a, b] = [await startServer(t, etcd.url), await startServer(t, `http://127.0.0.1:${port}`)]

    await t.test('what one has acknowledged the other shows at once', async (t) => {
      for (let round = 0; round < 5; round++) {
        const name = `round-${round}`
        t.match(await post(a, configmaps, configmap(name)), { status: 201 })
        const read = await b.send(`${configmaps}/${name}`)
        t.equal(read.status, 200)
        const changed = { ...(read.body as object), data: { by: 'b' } }
        t.match(await b.send(`${configmaps}/${name}`, { method: 'PUT', body: changed }), { status: 200 })
        t.match(await a.send(`${configmaps}/${name}`), { body: { data: { by: 'b' } } })
        const stale = { method: 'PUT', body: read.body as object }
        t.match(await a.send(`${configmaps}/${name}`, stale), { status: 409 })
        t.match(await b.send(`${configmaps}/${name}`, { method: 'DELETE' }), { status: 200 })
        t.equal((await a.send(`${configmaps}/${name}`)).status, 404)
        const { items } = (await a.send(configmaps)).body as { items: KubeObject[] }
        t.notOk(items.some(({ metadata }) => metadata.name === name))
      }
    })

    await t.test('once another holds the Lease, no server writes for the leader before it', async (t) => {
      const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
      const heldBy = (holderIdentity: string) => ({ metadata: { name: 'loops' }, spec: { holderIdentity } })
      const loops = (identity: string) => ({ 'kubestage-leader': `default/loops ${identity}` })
      t.match(await post(a, path, heldBy('term-0')), { status: 201 })
      for (let term = 0; term < 5; term++) {
        const [now, before] = [`term-${term}`, `term-${term - 1}`].map(loops)
        const headers = { 'content-type': 'application/merge-patch+json' }
        const patch = { method: 'PATCH', headers, body: heldBy(`term-${term}`) }
        t.match(await a.send(`${path}/loops`, patch), { status: 200 })
        const url = `${configmaps}/of-${now!['kubestage-leader'].split(' ')[1]}`
        const late = { method: 'POST', headers: before, body: configmap(`late-${term}`) }
        const message = `the Lease default/loops is not held by "term-${term - 1}"`
        t.match(await b.send(configmaps, late), { status: 409, body: { reason: 'Conflict', message } })
        const made = { method: 'POST', headers: now, body: configmap(`of-term-${term}`) }
        t.match(await b.send(configmaps, made), { status: 201 })
        for (const [method, body] of [
          ['DELETE', undefined],
          ['PUT', configmap(`of-term-${term}`, { late: 'yes' })],
        ] as const)
          t.match(await b.send(url, { method, headers: before, body }), { status: 409, body: { message } }, method)
        t.match(await b.send(url), { body: { metadata: { name: `of-term-${term}` } } })
        t.match(await b.send(url, { method: 'DELETE', headers: now }), { status: 200 })
      }
      const malformed = { method: 'POST', headers: { 'kubestage-leader': 'loops' }, body: configmap('x') }
      t.match(await b.send(configmaps, malformed), { status: 400, body: { reason: 'BadRequest' } })
    })

    await t.test('a namespace of one takes objects through the other', async (t) => {
      for (const name of ['one', 'two', 'three']) {
        await post(a, '/api/v1/namespaces', { metadata: { name } })
        t.match(await post(b, `/api/v1/namespaces/${name}/configmaps`, configmap('x')), { status: 201 }, name)
      }
    })

    await t.test('a watch at one tells of the writes at the other, in their order', async (t) => {
      const seen: string[] = []
      const stop = new AbortController()
      const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true }
      const watching = (async () => {
        const from = (await b.send(configmaps)).body as { metadata: { resourceVersion: string } }
        const { resourceVersion } = from.metadata
        const watch = b
          .client(admin)
          .watch<KubeObject>(resource as never, { namespace: 'default', resourceVersion, signal: stop.signal })
        seen.push('started')
        for await (const { type, object } of watch) seen.push(`${type} ${object.metadata.name}`)
      })().catch(() => {})
      await until(() => seen.length === 1, { what: 'the watch' })
      for (const name of ['w1', 'w2']) await post(a, configmaps, configmap(name))
      await a.send(`${configmaps}/w1`, { method: 'DELETE' })
      await until(() => seen.length === 4, { what: 'the events' })
      t.same(seen, ['started', 'ADDED w1', 'ADDED w2', 'DELETED w1'])
      stop.abort()
      await watching
    })

    await t.test("a list's continue token is good at the other", async (t) => {
      for (let index = 0; index < 5; index++) await post(a, configmaps, configmap(`page-${index}`))
      const first = (await a.send(`${configmaps}?limit=2`)).body as {
        metadata: { continue: string }
        items: KubeObject[]
      }
      await post(a, configmaps, configmap('page-9'))
      const token = encodeURIComponent(first.metadata.continue)
      const rest = (await b.send(`${configmaps}?limit=50&continue=${token}`)).body as { items: KubeObject[] }
      const names = [...first.items, ...rest.items].map(({ metadata }) => metadata.name)
      t.same(names, ['page-0', 'page-1', 'page-2', 'page-3', 'page-4', 'w2'])
    })

    await t.test('a custom resource that one has got is served by the other', async (t) => {
      const crd = {
        metadata: { name: 'crontabs.stable.example.com' },
        spec: {
          group: 'stable.example.com',
          scope: 'Namespaced',
          names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      }
      const { status } = await post(a, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd)
      t.equal(status, 201)
      const path = '/apis/stable.example.com/v1/namespaces/default/crontabs'
      await until(async () => (await b.send(path)).status === 200, { what: 'the kind at the other server' })
      const mine = { apiVersion: 'stable.example.com/v1', kind: 'CronTab', metadata: { name: 'mine' } }
      t.match(await post(b, path, mine), { status: 201 })
      t.match(await a.send(`${path}/mine`), { status: 200 })
      const request = { key: '/registry/stable.example.com/crontabs/default/mine' }
      t.equal((await etcd.client.call('range', request, { isRepeatable: true })).kvs.length, 1)
    })

    await t.test('an object is in etcd as JSON, and its resourceVersion is the revision there', async (t) => {
      await post(a, configmaps, configmap('plain', { text: 'ünï' }))
      const { body } = (await b.send(`${configmaps}/plain`)) as { body: KubeObject }
      const request = { key: '/registry/configmaps/default/plain' }
      const { kvs } = await etcd.client.call('range', request, { isRepeatable: true })
      t.match(JSON.parse(kvs[0]?.value ?? ''), {
        metadata: { name: 'plain', uid: body.metadata.uid },
        data: { text: 'ünï' },
      })
      t.equal(String(kvs[0]?.mod_revision), body.metadata.resourceVersion)
    })

    await t.test('an object that etcd finds too large gets 413', async (t) => {
      const annotations = { big: 'x'.repeat(200_000) }
      const containers = [{ name: 'c', image: 'i', args: ['y'.repeat(1_700_000)] }]
      const pod = { metadata: { name: 'big', annotations }, spec: { containers, serviceAccountName: 'default' } }
      const template = { metadata: { name: 'big' }, template: pod }
      t.match(await post(a, '/api/v1/namespaces/default/podtemplates', template), {
        status: 413,
        body: { reason: 'RequestEntityTooLarge', message: 'etcdserver: request is too large' },
      })
    })

    await t.test('without etcd writes are refused, and health checks name it', async (t) => {
      await etcd.stop()
      await until(async () => (await a.send('/readyz/etcd')).status === 500, { what: 'the health check' })
      t.match((await a.send('/livez?verbose')).body, /^\[-\]etcd failed: reason withheld$/m)
      t.match(await a.send('/readyz/etcd-readiness'), { status: 500, body: /^internal server error: etcd at / })
      t.match(await a.send(`${configmaps}/plain?resourceVersion=0`), { status: 200 })
      await etcd.start()
      await until(async () => (await post(a, configmaps, configmap('after'))).status === 201, { what: 'a write' })
      t.match(await b.send(`${configmaps}/after`), { status: 200 })
      await until(async () => (await a.send('/readyz/etcd')).status === 200, { what: 'the health check' })
    })
  })
}
