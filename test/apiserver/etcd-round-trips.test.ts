import { once } from 'node:events'
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import t from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { parseMetrics } from '../harness/metrics.ts'
import { skipOrFail } from '../harness/skip.ts'

/** On one connection at a time: so many requests ask etcd together how far it is. */
const together = 64
const count = 4 * together
const configmaps = '/api/v1/namespaces/default/configmaps'

/** Of an answer that is read to its end. */
async function statusOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: object): Promise<number> {
  const stream = session.request({ 'content-type': 'application/json', ...headers }, { endStream: !body })
  if (body) stream.end(JSON.stringify(body))
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  await once(stream.resume(), 'end')
  return Number(head[':status'])
}

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('what requests cost etcd, by its own count', async (t) => {
    const etcd = await startEtcd(t, program)
    const storage = await openEtcdStorage({ endpoints: [etcd.url], prefix: '/registry', clock: realClock })
    const server = await startTestApiServer(t, {}, undefined, undefined, { storage })
    const calls = async (grpc_method: string): Promise<number> => {
      const page = await (await fetch(`${etcd.url}/metrics`)).text()
      return parseMetrics(page).value('grpc_server_handled_total', { grpc_method, grpc_code: 'OK' }) ?? 0
    }
    /** Of so many requests, `together` at a time. */
    const cost = async (send: (i: number) => Promise<number>, wanted: number) => {
      const before = { txns: await calls('Txn'), ranges: await calls('Range'), leases: await calls('LeaseGrant') }
      for (let at = 0; at < count; at += together) {
        const answers = await Promise.all(Array.from({ length: together }, (_, i) => send(at + i)))
        t.same(answers, Array(together).fill(wanted))
      }
      return {
        txns: (await calls('Txn')) - before.txns,
        ranges: (await calls('Range')) - before.ranges,
        leases: (await calls('LeaseGrant')) - before.leases,
      }
    }
    const session = server.session()
    t.teardown(() => session.destroy())
    const create = (i: number) =>
      statusOf(session, { ':method': 'POST', ':path': configmaps }, { metadata: { name: `c-${i}` } })

    const creates = await cost(create, 201)
    t.comment(`${count} creates: ${JSON.stringify(creates)}`)
    t.ok(creates.txns >= count, 'a create is one transaction')
    t.ok(creates.txns <= count * 1.05, 'and no more; the rest is what servers write for themselves')
    t.ok(creates.ranges <= count * 0.25, 'freshness is asked for many at once')
    t.equal(creates.leases, 0)

    const gets = await cost((i) => statusOf(session, { ':path': `${configmaps}/c-${i}` }), 200)
    t.comment(`${count} gets: ${JSON.stringify(gets)}`)
    t.ok(gets.txns <= count * 0.05, 'a get writes nothing')
    t.ok(gets.ranges > 0, 'a get asks etcd how far it is')
    t.ok(gets.ranges <= count * 0.25, 'together with others')
  })
}
