import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { Lease } from '../../shared/api/types.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'

const v1 = '/kubestage/v1'
const configmaps = '/api/v1/namespaces/default/configmaps'

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  const clock = createMovableClock(realClock)
  return startTestApiServer(t, {}, undefined, undefined, { storage, like, clock })
}

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('journal, faults, clock and snapshots of two servers', async (t) => {
    const etcd = await startEtcd(t, program)
    const a = await startServer(t, etcd.url)
    t.equal((await a.send(`${v1}/journal`)).status, 200, 'one server alone has them all')
    t.equal((await a.send(`${v1}/clock`, { method: 'POST', body: { advance: '1s' } })).status, 200)
    await a.instruments.snapshots.markStart()
    const b = await startServer(t, etcd.url, a)

    await t.test('each has a Lease, as a real one', async (t) => {
      const selected = 'labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver'
      const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?${selected}`
      const { items } = (await a.send(path)).body as { items: Lease[] }
      t.equal(items.length, 2)
      for (const { metadata, spec } of items) {
        t.match(metadata.name, /^apiserver-/)
        t.ok(spec?.holderIdentity?.startsWith(`${metadata.name}_`))
      }
    })

    await t.test('what each has for itself is refused, unless it is asked of this one', async (t) => {
      const fault = { verb: 'create', resource: 'configmaps', then: { status: 503 } }
      const requests = [
        ['GET', '/journal'],
        ['PUT', '/journal', { kept: 10 }],
        ['DELETE', '/journal'],
        ['GET', '/faults'],
        ['POST', '/faults', fault],
        ['DELETE', '/faults'],
        ['POST', '/reset'],
      ] as const
      for (const [method, path, body] of requests) {
        const refused = await a.send(`${v1}${path}`, { method, body })
        t.match(refused, { status: 400, body: { reason: 'BadRequest' } }, `${method} ${path}`)
        t.match((refused.body as { message: string }).message, /^2 API servers have .* ask each with \?server=this$/)
        t.equal((await a.send(`${v1}${path}?server=this`, { method, body })).status, 200)
      }
      t.equal((await a.send(`${v1}/faults?server=this`, { method: 'POST', body: fault })).status, 200)
      const create = (server: TestApiServer, name: string) =>
        server.send(configmaps, { method: 'POST', body: { metadata: { name } } })
      t.equal((await create(a, 'x')).status, 503)
      t.equal((await create(b, 'x')).status, 201)
      await a.send(`${v1}/faults?server=this`, { method: 'DELETE' })
    })

    await t.test('their time is not moved', async (t) => {
      t.equal((await b.send(`${v1}/clock`)).status, 200)
      const refused = await b.send(`${v1}/clock`, { method: 'POST', body: { advance: '1h' } })
      t.match(refused, {
        status: 400,
        body: {
          message: '2 API servers have the same objects, and their time cannot be moved together: stop all but one',
        },
      })
    })

    await t.test('a snapshot of one is restored by the other', async (t) => {
      await a.send(configmaps, { method: 'POST', body: { metadata: { name: 'kept' } } })
      const { body } = await b.send(`${v1}/snapshot`)
      t.notMatch(JSON.stringify(body), /PRIVATE KEY/, 'without the key of the servers')
      await b.send(`${configmaps}/kept`, { method: 'DELETE' })
      await b.send(configmaps, { method: 'POST', body: { metadata: { name: 'later' } } })
      t.equal((await a.send(`${v1}/snapshot`, { method: 'PUT', body: body as object })).status, 200)
      t.equal((await b.send(`${configmaps}/kept`)).status, 200)
      t.equal((await b.send(`${configmaps}/later`)).status, 404)
      t.equal((await b.send(`${v1}/journal`)).status, 400, 'both are still known')
    })

    await t.test('a server that has stopped counts no longer', async (t) => {
      await b.close()
      t.equal((await a.send(`${v1}/journal`)).status, 200)
    })
  })
}
