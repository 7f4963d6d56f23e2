import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { ConfigMap, KubeList, KubeObject } from '../../shared/api/types.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const configmaps = '/api/v1/namespaces/default/configmaps'
const checks = ['/livez/etcd', '/readyz/etcd', '/healthz/etcd']

async function startServer(t: Test, url: string, aheadMs = 0): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  const clock = createMovableClock(realClock)
  if (aheadMs > 0) await clock.advance(aheadMs)
  return startTestApiServer(t, {}, undefined, undefined, { storage, clock })
}
const create = (server: TestApiServer, name: string, data = {}) =>
  server.send(configmaps, { method: 'POST', body: { metadata: { name }, data } })

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test(`an API server on etcd ${program.version} whose quota is used up, and which fails`, async (t) => {
    const etcd = await startEtcd(t, program, { args: ['--quota-backend-bytes', '6000000'] })
    const server = await startServer(t, etcd.url)
    for (const path of checks) t.match(await server.send(path), { status: 200, body: 'ok' }, path)
    const big = { x: 'x'.repeat(900_000) }
    let refused = await create(server, 'big-0', big)
    for (let index = 1; index < 30 && refused.status === 201; index++)
      refused = await create(server, `big-${index}`, big)
    t.match(refused, {
      status: 500,
      body: {
        kind: 'Status',
        reason: 'InternalError',
        message:
          /etcd at \S+ is full \(etcdserver: mvcc: database space exceeded\); make room with etcdctl compact and/,
      },
    })
    t.match(await server.send(`${configmaps}/big-0`), { status: 200 }, 'reads go on')
    t.match(await server.send(`${configmaps}/big-0`, { method: 'DELETE' }), { status: 200 }, 'and so do deletes')
    t.equal((await server.send(`${configmaps}/big-0`)).status, 404)

    await etcd.stop()
    for (const path of checks) {
      const failing = async () => (await server.send(path)).status === 500
      await until(failing, { what: `${path} to fail` })
      t.match(await server.send(path), { status: 500, body: /^internal server error: etcd at / }, path)
    }
  })

  t.test('clocks of two API servers may differ: order and time on etcd do not come from them', async (t) => {
    const etcd = await startEtcd(t, program)
    const [now, ahead] = [await startServer(t, etcd.url), await startServer(t, etcd.url, 600_000)]
    const revisions: number[] = []
    for (const [index, server] of [now, ahead, now, ahead].entries()) {
      const made = (await create(server, `c-${index}`)).body as ConfigMap
      revisions.push(Number(made.metadata.resourceVersion))
    }
    t.same(
      revisions,
      revisions.toSorted((a, b) => a - b),
    )
    for (const server of [now, ahead]) {
      const { items } = (await server.send(configmaps)).body as KubeList<KubeObject>
      t.equal(items.length, 4)
      const ages = items.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
      t.ok(ages[1]! - ages[0]! > 500_000, 'a timestamp is of the server that wrote it')
    }
    const made = await ahead.send('/api/v1/namespaces/default/events', {
      method: 'POST',
      body: { metadata: { name: 'e' }, involvedObject: { namespace: 'default' } },
    })
    t.equal(made.status, 201)
    const { kvs } = await etcd.client.call('range', { key: '/registry/events/default/e' }, { isRepeatable: true })
    t.ok(Number(kvs[0]?.lease) !== 0, 'an event ends by the clock of etcd')
  })

  t.test(
    'what a later version has stored is served; its fields that are not known are dropped by a write, as upstream',
    async (t) => {
      const etcd = await startEtcd(t, program)
      const server = await startServer(t, etcd.url)
      await create(server, 'mine')
      const key = '/registry/configmaps/default/mine'
      const read = async () => {
        const { kvs } = await etcd.client.call('range', { key }, { isRepeatable: true })
        return JSON.parse(kvs[0]?.value ?? '{}')
      }
      const put = (key: string, value: unknown) =>
        etcd.client.call(
          'txn',
          { success: [{ request_put: { key, value: JSON.stringify(value) } }] },
          { isRepeatable: true },
        )
      const later = await read()
      await put(key, { ...later, future: { a: 1 }, metadata: { ...later.metadata, later: 'b' } })
      // What servers share, with more than this one knows.
      await put('/registry/kubestage.dev/last-value', ['/registry/core/configmaps/default/x', '{}', { more: 1 }])
      await put('/registry/kubestage.dev/unknown', { more: 1 })
      const headers = { 'content-type': 'application/merge-patch+json' }
      const patch = JSON.stringify({ data: { changed: 'yes' } })
      t.match(await server.send(`${configmaps}/mine`, { method: 'PATCH', headers, body: patch }), { status: 200 })
      const { future, ...kept } = await read()
      t.match(kept, { data: { changed: 'yes' }, metadata: { uid: later.metadata.uid } })
      t.equal(future, undefined)
      t.match(await server.send(`${configmaps}/mine`), { status: 200 })
    },
  )
}
