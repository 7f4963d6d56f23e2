import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import { endpointSlices, pods, terminations } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'

const namespace = 'default'

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage, like })
}

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('a deletion at one server, and its record at the other', async (t) => {
    const etcd = await startEtcd(t, program)
    // What etcd tells the second server comes late.
    const { port } = await startTcpProxy(t, etcd.url, { delayMs: 20 })
    const a = await startServer(t, etcd.url)
    const b = await startServer(t, `http://127.0.0.1:${port}`, a)
    const jane = a.client({ name: 'jane', groups: ['system:masters'] })
    const start = async (name: string, labels?: Record<string, string>): Promise<Pod> => {
      const pod = podOf({ name, command: ['true'], spec: { nodeName: 'node-1' } })
      return jane.create<Pod>(pods, { ...pod, metadata: { ...pod.metadata, labels } }, { namespace })
    }
    let count = 0
    /** As a kubelet sends it to a server. */
    const recordAt = async (server: TestApiServer, { metadata: { name, uid } }: Pod): Promise<Termination> => {
      const body = { metadata: { name: `${name}.${++count}` }, podName: name, podUID: uid, nodeName: 'node-1' }
      const path = `/apis/kubestage.dev/v1/namespaces/${namespace}/terminations`
      return (await server.send(path, { method: 'POST', body })).body as Termination
    }

    await t.test('who asked, how, and for what reason', async (t) => {
      const web = await start('web')
      const ref = { namespace, name: 'web' }
      await jane.delete(pods, ref, { gracePeriodSeconds: 20, reason: 'Update' })
      const seen = await b.send(`/api/v1/namespaces/${namespace}/pods/web`)
      t.match(seen.body, { metadata: { deletionGracePeriodSeconds: 20, reason: 'Update' } }, 'the hook gets it')
      await b.client({ name: 'joe', groups: ['system:masters'] }).delete(pods, ref, { gracePeriodSeconds: 5 })
      const wrong = { gracePeriodSeconds: 1, preconditions: { uid: 'another' } }
      await t.rejects(jane.delete(pods, ref, wrong), /does not match the UID/)
      const requests = [
        { user: 'jane', gracePeriodSeconds: 20, reason: 'Update' },
        { user: 'joe', gracePeriodSeconds: 5 },
      ]
      for (const server of [b, a]) {
        const record = await recordAt(server, web)
        t.match(record.requests, requests)
        t.equal(record.requests?.length, 2)
      }
      const later = await startServer(t, etcd.url, a)
      t.match((await recordAt(later, web)).requests, requests, 'a server that started later knows it as well')
    })

    await t.test('at once, also where no grace is left, and for evictions and collections', async (t) => {
      for (let round = 0; round < 3; round++) {
        const forced = await start(`forced-${round}`)
        await jane.delete(pods, { namespace, name: `forced-${round}` }, { gracePeriodSeconds: 0, reason: 'Now' })
        t.match((await recordAt(b, forced)).requests, [{ user: 'jane', gracePeriodSeconds: 0, reason: 'Now' }])
      }
      const evicted = await start('evicted')
      const eviction = {
        metadata: { name: 'evicted', namespace },
        deleteOptions: { gracePeriodSeconds: 9, reason: 'Drain' },
      }
      const path = `/api/v1/namespaces/${namespace}/pods`
      t.equal((await a.send(`${path}/evicted/eviction`, { method: 'POST', body: eviction })).status, 201)
      t.match((await recordAt(b, evicted)).requests, [{ gracePeriodSeconds: 9, reason: 'Drain' }])
      const one = await start('one', { app: 'both' })
      const other = await start('other', { app: 'both' })
      const body = { gracePeriodSeconds: 7, reason: 'Sweep' }
      t.equal((await a.send(`${path}?labelSelector=app%3Dboth`, { method: 'DELETE', body })).status, 200)
      for (const pod of [one, other]) {
        t.match((await recordAt(b, pod)).requests, [{ gracePeriodSeconds: 7, reason: 'Sweep' }])
      }
    })

    await t.test(
      'deletions at both servers at once are each noted once, and only if they changed something',
      async (t) => {
        const busy = await start('busy')
        const ask = (server: TestApiServer, seconds: number) =>
          server.send(`/api/v1/namespaces/${namespace}/pods/busy`, {
            method: 'DELETE',
            body: { gracePeriodSeconds: seconds },
          })
        await Promise.all([30, 28, 26, 24].map((seconds, index) => ask(index % 2 ? a : b, seconds)))
        const { requests = [] } = await recordAt(b, busy)
        const graces = requests.map(({ gracePeriodSeconds }) => gracePeriodSeconds)
        t.same(graces, [...new Set(graces)], 'each once')
        t.equal(Math.min(...graces.map(Number)), 24)
        t.same((await recordAt(a, busy)).requests, requests)
      },
    )

    await t.test('a deletion that was refused is not noted: the leader that asked leads no longer', async (t) => {
      const kept = await start('kept')
      const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
      const lease = { metadata: { name: 'loops' }, spec: { holderIdentity: 'new' } }
      t.match(await a.send(leases, { method: 'POST', body: lease }), { status: 201 })
      for (const server of [a, b])
        for (const body of [{ gracePeriodSeconds: 20, reason: 'Late' }, { gracePeriodSeconds: 0 }]) {
          const headers = { 'kubestage-leader': 'default/loops old' }
          const answer = await server.send(`/api/v1/namespaces/${namespace}/pods/kept`, {
            method: 'DELETE',
            headers,
            body,
          })
          t.match(answer, { status: 409, body: { message: /not held by "old"/ } })
        }
      for (const server of [a, b]) t.same((await recordAt(server, kept)).requests ?? [], [])
    })

    await t.test('since when new connections go elsewhere', async (t) => {
      const served = await start('served')
      const { uid } = served.metadata
      const endpoints = [{ addresses: ['127.64.0.1'], targetRef: { kind: 'Pod', namespace, name: 'served', uid } }]
      const labels = { 'kubernetes.io/service-name': 'web' }
      const slice = { metadata: { name: 'web-1', namespace, labels }, addressType: 'IPv4', endpoints }
      await jane.create(endpointSlices, slice, { namespace })
      await jane.delete(pods, { namespace, name: 'served' }, { gracePeriodSeconds: 20 })
      await jane.delete(endpointSlices, { namespace, name: 'web-1' })
      t.match((await recordAt(b, served)).steps, [{ name: 'EndpointRemoved', message: 'service web' }])
    })

    await t.test('a record of one server is listed by the other', async (t) => {
      const { items } = await b
        .client({ name: 'joe', groups: ['system:masters'] })
        .list<Termination>(terminations, { namespace, fieldSelector: 'podName=web' })
      t.equal(items.length, 3)
    })
  })
}
