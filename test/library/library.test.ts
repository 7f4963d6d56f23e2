import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import t, { type Test } from 'tap'
import { type Cluster, type FaultRule, resources, type StartClusterOptions, startCluster } from '../../library/index.ts'
import type { ConfigMap, Pod } from '../../shared/api/types.ts'
import { createRestClient, type RestClientOptions } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'

const { configMaps, namespaces, pods } = resources
const namespace = 'default'

async function start(t: Test, options: StartClusterOptions = { apiOnly: true }) {
  const cluster = await startCluster(options)
  t.teardown(() => cluster.close())
  return cluster
}

/** As a program under test would: over the network. */
function outside(t: Test, { access }: Cluster, options: Partial<RestClientOptions> = {}) {
  const client = createRestClient({ ...access, clock: realClock, ...options })
  t.teardown(() => client.close())
  return client
}

const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace },
  data,
})

t.test('the journal tells what came, and a failed assertion what came instead', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster, { userAgent: 'tester/1' })
  const waiting = cluster.journal.waitFor({ verb: 'create', resource: 'configmaps' })
  await client.create(configMaps, configMap('a'))
  t.match(await waiting, {
    verb: 'create',
    resource: 'configmaps',
    namespace,
    code: 201,
    user: 'kubernetes-admin',
    userAgent: 'tester/1',
  })
  await t.rejects(client.get(configMaps, { namespace, name: 'none' }))
  t.match(cluster.journal.entries({ name: 'none' }), [
    { verb: 'get', code: 404, path: '/api/v1/namespaces/default/configmaps/none' },
  ])
  cluster.journal.assert({ verb: ['get', 'create'], resource: 'configmaps', user: 'kubernetes-admin' }, 2)
  cluster.journal.assert({ code: 404 })
  cluster.journal.assert({ resource: 'configmaps/*' }, 0)
  t.throws(() => cluster.journal.assert({ verb: 'delete' }), {
    code: 'ERR_ASSERTION',
    message:
      /^expected 1 to any number requests with \{"verb":"delete"\}, but there were 0; the last 2 of 2 that came:\n {2}#1 create .*configmaps.* → 201 \(kubernetes-admin\)\n {2}#2 get .*none → 404/,
  })
  await t.rejects(
    cluster.journal.waitFor({ verb: 'delete' }, { timeout: '50ms' }),
    /waited 50ms in vain .*\n {2}#1 create/,
  )
  cluster.journal.clear()
  t.same(cluster.journal.entries(), [])
  await cluster.client.get(namespaces, { name: namespace })
  t.same(cluster.journal.entries(), [], "the cluster's own client needs no network")
})

t.test('the journal keeps the last so many', async (t) => {
  const cluster = await start(t, { apiOnly: true, journal: 10 })
  const client = outside(t, cluster)
  for (let i = 0; i < 30; i++) await client.list(configMaps, { namespace })
  const ids = cluster.journal.entries().map(({ id }) => id)
  t.ok(ids.length >= 10 && ids.length <= 12, `${ids.length} kept`)
  t.equal(ids.at(-1), 30)
})

t.test('faults strike whom they mean, as often as they say', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  const create = (name: string) => client.create(configMaps, configMap(name))
  {
    using fault = cluster.faults.add({
      verb: 'create',
      resource: 'configmaps',
      times: 2,
      then: { status: { code: 429, retryAfterSeconds: 1, message: 'slow down' } },
    })
    for (let i = 0; i < 2; i++) {
      await t.rejects(create('a'), { message: 'slow down', code: 429, reason: 'TooManyRequests' })
    }
    await create('a')
    t.equal(fault.hits(), 2)
    t.match(cluster.journal.entries({ code: 429 }), [{ fault: 'status=429' }, { fault: 'status=429' }])
  }
  t.same(cluster.faults.list(), [])
})

t.test('each effect of a fault', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  await client.create(configMaps, configMap('a', { is: 'old' }))
  const [old] = (await client.list<ConfigMap>(configMaps, { namespace })).items
  await client.patch(configMaps, { namespace, name: 'a' }, { data: { is: 'new' } })
  const during = async <Result>(then: FaultRule['then'], body: () => Promise<Result>): Promise<Result> => {
    using _ = cluster.faults.add({ resource: 'configmaps', then })
    return await body()
  }
  const get = () => client.get(configMaps, { namespace, name: 'a' })
  await during({ status: 503 }, () => t.rejects(get(), { reason: 'ServiceUnavailable', message: 'failed on purpose' }))
  await during({ reset: true }, () => t.rejects(get(), /socket hang up|ECONNRESET|connection was closed/))
  const startedMs = realClock.monotonic()
  await during({ delay: '200ms' }, get)
  t.ok(realClock.monotonic() - startedMs >= 200, 'it took its time')
  const stale = await during({ stale: 1 }, () => client.list<ConfigMap>(configMaps, { namespace }))
  t.same(stale.items, [old], 'the list is one write behind')
  const types: string[] = []
  await during({ dropWatch: '100ms' }, async () => {
    await t.rejects(async () => {
      for await (const { type } of client.watch(configMaps, { namespace })) types.push(type)
    })
  })
  t.same(types, ['ADDED'], 'a watch begins, and is cut')
  t.match(await get(), { data: { is: 'new' } })
})

t.test('chance repeats itself with the same seed', async (t) => {
  const pattern = async (seed: number): Promise<string> => {
    const cluster = await start(t)
    const client = outside(t, cluster)
    cluster.faults.add({ verb: 'list', probability: 0.5, seed, then: { status: 500 } })
    const outcomes: string[] = []
    for (let i = 0; i < 24; i++) {
      outcomes.push(
        await client.list(configMaps, { namespace }).then(
          () => '.',
          () => 'x',
        ),
      )
    }
    return outcomes.join('')
  }
  const [first, again, other] = [await pattern(7), await pattern(7), await pattern(8)]
  t.equal(first, again)
  t.not(first, other)
  t.match(first, /x/)
  t.match(first, /\./)
})

t.test('a rule that makes no sense is refused with what would', async (t) => {
  const { faults } = await start(t)
  const add = (rule: object) => () => faults.add(rule as FaultRule)
  t.throws(add({ verb: 'get' }), /then must be a map with one of status, delay, reset, dropWatch, stale/)
  t.throws(add({ verbs: 'get', then: { reset: true } }), /a fault has no verbs; it has verb, resource/)
  t.throws(add({ then: { status: 200 } }), /status must be a code from 400 to 599/)
  t.throws(add({ then: { delay: 'soon' } }), /delay must be a duration such as 500ms/)
  t.throws(add({ probability: 2, then: { reset: true } }), /probability must be from 0 to 1, not 2/)
  t.throws(add({ times: 0, then: { reset: true } }), /times must be a whole number from 1 on, not 0/)
  t.throws(add({ verb: 7, then: { reset: true } }), /verb must be text, or a list of texts/)
})

t.test('a restored cluster is what it was, and watchers see just what changes', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  for (const name of ['kept', 'changed', 'deleted']) await client.create(configMaps, configMap(name, { is: 'old' }))
  await client.create(namespaces, { metadata: { name: 'other' } })
  const before = await client.list<ConfigMap>(configMaps)
  const snapshot = await cluster.snapshot()
  const events: string[] = []
  const watching = new AbortController()
  const watch = (async () => {
    const { resourceVersion } = before.metadata
    for await (const { type, object } of client.watch<ConfigMap>(configMaps, {
      resourceVersion,
      signal: watching.signal,
    })) {
      events.push(`${type} ${object.metadata.name}`)
      if (events.length === 6) watching.abort()
    }
  })()
  await client.patch(configMaps, { namespace, name: 'changed' }, { data: { is: 'new' } })
  await client.delete(configMaps, { namespace, name: 'deleted' })
  await client.create(configMaps, configMap('surplus'))
  await client.delete(namespaces, { name: 'other' })

  t.same(await cluster.restore(snapshot), { created: 1, changed: 2, deleted: 1 })
  const after = await client.list<ConfigMap>(configMaps)
  const comparable = ({ metadata: { resourceVersion, ...metadata }, ...rest }: ConfigMap) => ({ metadata, ...rest })
  t.same(after.items.map(comparable), before.items.map(comparable), 'the same objects, with their uids')
  t.match(await client.get(namespaces, { name: 'other' }), { status: { phase: 'Active' } })
  await watch
  t.same(events.slice(0, 3), ['MODIFIED changed', 'DELETED deleted', 'ADDED surplus'])
  t.same(events.slice(3).sort(), ['ADDED deleted', 'DELETED surplus', 'MODIFIED changed'])
  t.same(
    await cluster.restore(snapshot),
    { created: 0, changed: 0, deleted: 0 },
    'a second time there is nothing to do',
  )

  await cluster.reset()
  t.same((await client.list<ConfigMap>(configMaps)).items, [])
  t.same((await client.list(namespaces)).items.length, 4)
})

t.test('a thousand objects are restored in no time', async (t) => {
  const cluster = await start(t)
  const names = Array.from({ length: 1000 }, (_, i) => `c${i}`)
  for (const name of names) await cluster.client.create(configMaps, configMap(name, { text: 'x'.repeat(1000) }))
  const snapshot = await cluster.snapshot()
  for (const name of names) await cluster.client.delete(configMaps, { namespace, name })
  const startedMs = realClock.monotonic()
  t.same(await cluster.restore(snapshot), { created: 1000, changed: 0, deleted: 0 })
  t.comment(`restored in ${(realClock.monotonic() - startedMs).toFixed(1)} ms`)
})

t.test('virtual time moves when it is told to, and not otherwise', async (t) => {
  await using cluster = await startCluster({ simulatedNodes: 2, time: 'virtual' })
  const { client } = cluster
  const before = cluster.clock.now()
  await client.create(
    pods,
    {
      metadata: { name: 'web', namespace },
      spec: { terminationGracePeriodSeconds: 600, containers: [{ name: 'main', image: 'x', command: ['x'] }] },
    },
    { namespace },
  )
  await cluster.clock.advance('10s')
  const pod = await cluster.waitFor<Pod>(pods, { namespace, name: 'web' }, ({ status }) => status?.phase === 'Running')
  t.match(pod.spec.nodeName, /^simulated-[12]$/)
  t.equal(cluster.clock.now() - before, 10_000)
  await client.delete(pods, { namespace, name: 'web' })
  await cluster.clock.advance('2s')
  await cluster.waitForDeleted(pods, { namespace, name: 'web' })
  t.match(await cluster.terminations.of('web'), { podName: 'web' })
})

t.test('waiters say what they saw', async (t) => {
  const cluster = await start(t)
  await cluster.client.create(configMaps, configMap('a', { is: 'there' }))
  const never = (): boolean => false
  const options = { timeout: '50ms' }
  await t.rejects(
    cluster.waitFor(configMaps, { namespace, name: 'a' }, never, options),
    /waited 50ms in vain for configmaps a; last seen: .*"is":"there"/,
  )
  await t.rejects(
    cluster.waitFor(configMaps, { namespace, name: 'b' }, never, options),
    /waited 50ms in vain for configmaps b; there was none/,
  )
  await t.rejects(cluster.waitForDeleted(configMaps, { namespace, name: 'a' }, options), /in vain/)
  await cluster.waitForDeleted(configMaps, { namespace, name: 'b' })
  await t.rejects(cluster.clock.advance('1s'), /time is not yours to move/)
  await t.rejects(startCluster({ nodes: 1, time: 'virtual' }), /processes cannot wait for a virtual clock/)
})

t.test('clusters side by side; the client library takes the kubeconfig', async (t) => {
  const [one, two] = await Promise.all([startCluster({ apiOnly: true }), startCluster({ apiOnly: true })])
  await one.client.create(configMaps, configMap('only-in-one'))
  const seen = await Promise.all(
    [one, two].map(async ({ kubeconfig }) => {
      const config = new KubeConfig()
      config.loadFromString(kubeconfig)
      const { items } = await config.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace })
      return items.map(({ metadata }) => metadata?.name)
    }),
  )
  t.same(seen, [['only-in-one'], []])
  await Promise.all([one.close(), two.close()])
})

t.test('two nodes with real processes', async (t) => {
  await using cluster = await startCluster({ nodes: 2 })
  const script = 'trap "exit 0" TERM; while :; do sleep 0.05; done'
  for (const name of ['a', 'b']) {
    await cluster.client.create(pods, {
      metadata: { name, namespace },
      spec: {
        nodeName: name === 'a' ? 'node-1' : 'node-2',
        containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', script] }],
      },
    })
  }
  const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running'
  await Promise.all(['a', 'b'].map((name) => cluster.waitFor<Pod>(pods, { namespace, name }, isRunning)))
  await cluster.client.delete(pods, { namespace, name: 'a' }, { reason: 'Update' })
  t.match(await cluster.terminations.of('a'), { reason: 'Update', nodeName: 'node-1' })
  await cluster.waitForDeleted(pods, { namespace, name: 'a' })
})

t.test('an API server alone takes pods without service accounts', async (t) => {
  const { client } = await start(t)
  const spec = { containers: [{ name: 'main', image: 'x' }] }
  t.match(await client.create(pods, { metadata: { name: 'web', namespace }, spec }), { spec: { containers: [{}] } })
})
