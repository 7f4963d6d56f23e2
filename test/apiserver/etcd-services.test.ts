import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { Service } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'

const services = '/api/v1/namespaces/default/services'
/** Addresses of 10.96.0.0/26 without the first and the last. */
const addressCount = 62
const portCount = 2768

type Spec = NonNullable<Service['spec']>

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage, serviceCidr: '10.96.0.0/26', like })
}

const post = (server: TestApiServer, name: string, spec: object): Promise<Received> =>
  server.send(services, { method: 'POST', body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } } })

const remove = (server: TestApiServer, name: string): Promise<Received> =>
  server.send(`${services}/${name}`, { method: 'DELETE' })

/** Calls in turn at each server, so many at a time. */
async function alternating<T>(
  servers: readonly TestApiServer[],
  count: number,
  call: (server: TestApiServer, index: number) => Promise<T>,
  atOnce = 40,
): Promise<T[]> {
  const results: T[] = []
  for (let from = 0; from < count; from += atOnce) {
    const indices = Array.from({ length: Math.min(atOnce, count - from) }, (_, index) => from + index)
    results.push(...(await Promise.all(indices.map((index) => call(servers[index % servers.length]!, index)))))
  }
  return results
}

const specOf = ({ body }: Received): Spec => (body as Service).spec!
const statusOf = ({ status }: Received): number => status
const made = (answers: Received[]): Received[] => answers.filter(({ status }) => status === 201)
const refused = (answers: Received[]): Received[] => answers.filter(({ status }) => status !== 201)
const portsOf = ({ ports = [], healthCheckNodePort }: Spec): number[] =>
  [...ports.map(({ nodePort }) => nodePort ?? 0), healthCheckNodePort ?? 0].filter(Boolean)

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('what Services get from two servers', async (t) => {
    const etcd = await startEtcd(t, program)
    const a = await startServer(t, etcd.url)
    const b = await startServer(t, etcd.url, a)
    const servers = [a, b]
    const clear = async () => {
      const { items } = (await b.send(services)).body as { items: Service[] }
      await alternating(servers, items.length, (server, index) => remove(server, items[index]?.metadata.name ?? ''))
    }

    await t.test('no cluster IP is given out twice, all of the range are, and deleted ones again', async (t) => {
      for (let round = 0; round < 2; round++) {
        const answers = await alternating(servers, 100, (server, index) => post(server, `r${round}-${index}`, {}))
        const ips = made(answers).map((answer) => specOf(answer).clusterIP)
        t.equal(new Set(ips).size, ips.length, 'each is of one Service')
        t.equal(ips.length, addressCount, 'all have been given out')
        for (const { status, body } of refused(answers)) {
          t.equal(status, 500)
          t.match(body, { reason: 'InternalError', message: /range is full$/ })
        }
        const { items } = (await a.send('/apis/networking.k8s.io/v1/ipaddresses')).body as {
          items: { metadata: { name: string; labels: object }; spec: { parentRef: { name: string } } }[]
        }
        t.same(items.map(({ metadata }) => metadata.name).sort(), ips.sort(), 'each has an IPAddress')
        t.match(items[0]?.metadata.labels, {
          'ipaddress.kubernetes.io/ip-family': 'IPv4',
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        })
        await clear()
      }
      const { body } = await b.send('/apis/networking.k8s.io/v1/ipaddresses')
      t.same((body as { items: unknown[] }).items, [], 'none is left behind')
    })

    await t.test('no node port is given out twice, all of the range are, and deleted ones again', async (t) => {
      const ports = Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, port: index + 1 }))
      // Few enough Services that their cluster IPs suffice.
      const many = (prefix: string, count: number, width: number) =>
        alternating(
          servers,
          count,
          (server, index) => post(server, `${prefix}-${index}`, { type: 'NodePort', ports: ports.slice(0, width) }),
          6,
        )
      const healthCheck = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', allocateLoadBalancerNodePorts: false }
      const answers = [
        ...(await many('wide', 27, 100)),
        ...(await many('narrow', 5, 10)),
        ...(await alternating(servers, 25, (server, index) => post(server, `health-${index}`, healthCheck))),
      ]
      const given = made(answers).flatMap((answer) => portsOf(specOf(answer)))
      t.equal(new Set(given).size, given.length, 'each is of one Service')
      t.equal(given.length, portCount, 'all have been given out')
      for (const { body } of refused(answers)) t.match(body, { message: /range is full$/ })
      await clear()
      t.equal(made(await many('again', 27, 100)).length, 27)
      await clear()
    })

    await t.test('one of those who ask for the same address or port gets it', async (t) => {
      const wanted = [
        [{ clusterIP: '10.96.0.5' }, /spec\.clusterIPs: .* failed to allocate IP 10\.96\.0\.5: provided IP is already/],
        [
          { type: 'NodePort', ports: [{ port: 80, nodePort: 30_500 }] },
          /spec\.ports\[0\]\.nodePort: Invalid value: 30500: provided port is already allocated/,
        ],
        [
          { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_501 },
          /failed to allocate requested HealthCheck NodePort 30501: provided port is already allocated/,
        ],
      ] as const
      for (const [kind, [spec, message]] of wanted.entries()) {
        for (let round = 0; round < 5; round++) {
          const answers = await alternating(servers, 8, (server, index) => post(server, `w${kind}-${index}`, spec))
          t.equal(made(answers).length, 1, `one has it: ${answers.map(statusOf)}`)
          for (const { status, body } of refused(answers)) {
            t.equal(status, 422)
            t.match(body, { reason: 'Invalid', message })
          }
          await clear()
        }
      }
    })

    await t.test('what a refused, tried or changed Service had is free for the other server at once', async (t) => {
      const spec = { type: 'NodePort', clusterIP: '10.96.0.9', ports: [{ port: 80, nodePort: 30_900 }] }
      t.equal((await post(a, 'Bad_Name', spec)).status, 422)
      t.equal((await post(a, 'wrong', { ...spec, sessionAffinity: 'Never' })).status, 422)
      const dryRun = { method: 'POST', body: { metadata: { name: 'dry' }, spec } }
      t.equal((await a.send(`${services}?dryRun=All`, dryRun)).status, 201)
      t.match(await post(b, 'one', spec), { status: 201 })
      t.equal((await post(a, 'two', spec)).status, 422)
      const headers = { 'content-type': 'application/merge-patch+json' }
      const change = (server: TestApiServer, name: string, body: object) =>
        server.send(`${services}/${name}`, { method: 'PATCH', headers, body })
      const external = { type: 'ExternalName', externalName: 'x.example', clusterIP: null, clusterIPs: null }
      t.equal((await change(a, 'one', { spec: { ...external, ports: null } })).status, 200)
      t.equal((await post(b, 'two', spec)).status, 201)
      t.equal((await change(a, 'one', { spec: { ...spec, externalName: null } })).status, 422)
      t.equal((await remove(b, 'two')).status, 200)
      t.match(await change(a, 'one', { spec: { ...spec, externalName: null } }), { status: 200, body: { spec } })
      t.equal((await post(b, 'three', spec)).status, 422)
      await a.send(`${services}/one`, {
        method: 'PATCH',
        headers,
        body: { metadata: { finalizers: ['example.com/f'] } },
      })
      await remove(b, 'one')
      t.equal((await post(b, 'three', spec)).status, 422, 'a finalizer keeps it')
      await change(b, 'one', { metadata: { finalizers: null } })
      t.equal((await post(a, 'three', spec)).status, 201)
    })

    await t.test('a snapshot brings Services back with what they had, and frees what the others had', async (t) => {
      await clear()
      const spec = (ip: string, nodePort: number) => ({
        type: 'NodePort',
        clusterIP: ip,
        ports: [{ port: 80, nodePort }],
      })
      await post(a, 'kept', spec('10.96.0.11', 31_011))
      const snapshot = await a.instruments.snapshots.take()
      await remove(b, 'kept')
      await post(b, 'later', spec('10.96.0.12', 31_012))
      await b.instruments.snapshots.restore(snapshot)
      t.equal((await post(a, 'x', spec('10.96.0.11', 31_013))).status, 422)
      t.equal((await post(b, 'x', spec('10.96.0.13', 31_011))).status, 422)
      t.equal((await post(a, 'x', spec('10.96.0.12', 31_012))).status, 201)
    })

    await t.test('a server that starts takes what stored Services have and no server has taken', async (t) => {
      for (const key of ['/registry/ipaddresses/10.96.0.12', '/registry/ranges/servicenodeports']) {
        await etcd.client.call('txn', { success: [{ request_delete_range: { key } }] }, { isRepeatable: true })
      }
      await startServer(t, etcd.url, a)
      t.match(await a.send('/apis/networking.k8s.io/v1/ipaddresses/10.96.0.12'), {
        status: 200,
        body: { spec: { parentRef: { namespace: 'default', name: 'x' } } },
      })
      t.equal((await post(b, 'y', { type: 'NodePort', ports: [{ port: 80, nodePort: 31_012 }] })).status, 422)
    })
  })
}
