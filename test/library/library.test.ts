import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import t from 'tap'
import { type KubeObject, resources, startCluster } from '../../library/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps, events, namespaces, pods } = resources

t.test('the journal tells what came, and a failed assertion what came instead', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster, { userAgent: 'tester/1' })
  const waiting = cluster.journal.waitFor({ verb: 'create', resource: 'configmaps' })
  await client.create(configMaps, configMap('a'))
  t.match(await waiting, {
    verb: 'create',
    resource: 'configmaps',
    namespace,
    name: 'a',
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
    /timed out after 50ms waiting for .*\n {2}#1 create/,
  )
  const { metadata } = await client.create<KubeObject>(configMaps, { metadata: { namespace, generateName: 'new-' } })
  cluster.journal.assert({ verb: 'create', name: metadata.name }, 1)
  await t.rejects(client.create(configMaps, configMap('a')), { code: 409 })
  cluster.journal.assert({ verb: 'create', name: 'a', code: 409 }, 1)
  cluster.journal.clear()
  t.same(cluster.journal.entries(), [])
  await cluster.client.get(namespaces, { name: namespace })
  t.same(cluster.journal.entries(), [], "the cluster's own client needs no network")
})

t.test('what is mistyped is refused, and does not mean nothing', async (t) => {
  const refused: [given: object, message: string][] = [
    [{ nodess: 3 }, 'startCluster has no option nodess; did you mean nodes?'],
    [{ nodes: -1 }, 'startCluster: nodes must be a whole number from 0 to 100, not -1'],
    [{ time: 'virtul' }, `startCluster: time must be 'real', 'virtual' or a number from 1 to 1000, not "virtul"`],
    [{ time: 0.5 }, "startCluster: time must be 'real', 'virtual' or a number from 1 to 1000, not 0.5"],
    [{ apiOnly: 'yes' }, 'startCluster: apiOnly must be true or false, not "yes"'],
    [
      { storage: 'etcd' },
      'startCluster: storage must be memory, sqlite:PATH or etcd:https://HOST:PORT[,…], not "etcd"',
    ],
    [{ images: { nginx: 3 } }, 'startCluster: images "nginx" must be a command (text, or a list of texts), not 3'],
    [
      { shutdownGracePeriod: '2 s' },
      'startCluster: shutdownGracePeriod must be a duration such as 500ms, 30s or 1m30s, not "2 s"',
    ],
    [
      { limits: { maxCelSteps: 5 } },
      'startCluster: limits "maxCelSteps" must be a whole number from 1000 to 100000000, not 5',
    ],
    [
      { limits: { idleTimeout: 5 } },
      'startCluster: limits "idleTimeout" must be a duration from 100ms to 24h, not "5ms"',
    ],
    [
      { limits: { maxCelStep: 5_000 } },
      'startCluster: limits "maxCelStep" is not a limit of the API server; did you mean maxCelSteps?',
    ],
    [{ limits: 5 }, 'startCluster: limits must be a map, not 5'],
    [{ leaderElect: 'yes' }, 'startCluster: leaderElect must be true or false, not "yes"'],
    [
      { leaderElectLeaseDuration: 'long' },
      'startCluster: leaderElectLeaseDuration must be a duration such as 500ms, 30s or 1m30s, not "long"',
    ],
    [
      { leaderElect: true, nodes: 0, leaderElectLeaseDuration: '2s' },
      '--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline',
    ],
    [{ onTrouble: 'log' }, 'startCluster: onTrouble must be a function, not "log"'],
    [{ apiOnly: true, nodes: 1 }, 'apiOnly starts no nodes: leave out nodes and simulatedNodes'],
  ]
  for (const [given, message] of refused) await t.rejects(startCluster(given), { message }, JSON.stringify(given))
  const cluster = await start(t, { apiOnly: true, nodes: undefined, images: { 'nginx:*': 'nginx -g "daemon off;"' } })
  const none = { message: 'unknown verb "creat"; did you mean create?' }
  t.throws(() => cluster.journal.assert({ verb: 'creat' }, 0), none, 'which would be true of each request')
  t.throws(() => cluster.journal.entries({ verbs: 'create' } as object), {
    message: /^unknown field "verbs"; a request has verb, /,
  })
  await t.rejects(cluster.journal.waitFor({ verb: ['get', 'creat'] }), none)
  t.throws(() => cluster.faults.add({ verb: 'creat', then: { reset: true } }), none)
  await t.rejects(cluster.restore(cluster.snapshot() as never), { message: 'not a valid snapshot of a cluster' })
})

t.test('the journal keeps the last so many', async (t) => {
  const cluster = await start(t, { apiOnly: true, journal: 10 })
  const client = outside(t, cluster)
  for (let i = 0; i < 30; i++) await client.list(configMaps, { namespace })
  const ids = cluster.journal.entries().map(({ id }) => id)
  t.ok(ids.length >= 10 && ids.length <= 12, `${ids.length} kept`)
  t.equal(ids.at(-1), 30)
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

t.test('a simulated node makes no files, and still waits for the sources of volumes', async (t) => {
  const stateDir = t.testdir()
  await using cluster = await startCluster({ simulatedNodes: 1, time: 'virtual', stateDir })
  const { client, clock } = cluster
  const volumes = [
    { name: 'config', configMap: { name: 'late' } },
    { name: 'machine', hostPath: { path: '/there/is/none', type: 'Directory' } },
    { name: 'scratch', emptyDir: {} },
  ]
  const volumeMounts = volumes.map(({ name }) => ({
    name,
    mountPath: `/${name}`,
    subPath: name === 'scratch' ? 'a' : '',
  }))
  const containers = [{ name: 'main', image: 'x', command: ['x'], volumeMounts }]
  await client.create(pods, { metadata: { name: 'web', namespace }, spec: { containers, volumes } })
  await clock.advance('10s')
  const waiting = await client.get<Pod>(pods, { namespace, name: 'web' })
  t.match(waiting.status?.containerStatuses?.[0]?.state, { waiting: { reason: 'ContainerCreating' } })
  const { items } = await client.list<{ reason: string; message: string }>(events, { namespace })
  const [failed] = items.filter(({ reason }) => reason === 'FailedMount')
  t.equal(failed?.message, 'MountVolume.SetUp failed for volume "config" : configmap "late" not found')
  await client.create(configMaps, configMap('late'))
  await clock.advance('1m')
  await cluster.waitFor<Pod>(pods, { namespace, name: 'web' }, ({ status }) => status?.phase === 'Running')
  t.same(readdirSync(join(stateDir, 'nodes', 'simulated-1', 'kubelet')), [])
})

t.test('waiters say what they saw', async (t) => {
  const cluster = await start(t)
  await cluster.client.create(configMaps, configMap('a', { is: 'there' }))
  const never = (): boolean => false
  const options = { timeout: '50ms' }
  await t.rejects(
    cluster.waitFor(configMaps, { namespace, name: 'a' }, never, options),
    /timed out after 50ms waiting for configmaps a; last seen: .*"is":"there"/,
  )
  await t.rejects(
    cluster.waitFor(configMaps, { namespace, name: 'b' }, never, options),
    /timed out after 50ms waiting for configmaps b; no such object was seen/,
  )
  await t.rejects(cluster.waitForDeleted(configMaps, { namespace, name: 'a' }, options), /timed out/)
  await cluster.waitForDeleted(configMaps, { namespace, name: 'b' })
  await t.rejects(startCluster({ nodes: 1, time: 'virtual' }), /processes cannot wait for a virtual clock/)
})

t.test('clusters side by side; clients of the client library, as any user', async (t) => {
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
  const core = await one.apiClient(CoreV1Api)
  t.equal((await core.readNamespacedConfigMap({ namespace, name: 'only-in-one' })).metadata?.name, 'only-in-one')
  const jane = await one.apiClient(CoreV1Api, { name: 'jane', groups: ['readers', 'writers'] })
  await t.rejects(jane.listNamespacedConfigMap({ namespace }), { code: 403 })
  const apiGroup = 'rbac.authorization.k8s.io'
  const rbac = (plural: string) => ({ group: apiGroup, version: 'v1', plural })
  const metadata = { name: 'readers', namespace }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
  await one.client.create(rbac('roles'), { metadata, rules })
  const subjects = [{ kind: 'Group', name: 'readers', apiGroup }]
  await one.client.create(rbac('rolebindings'), {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: 'readers' },
    subjects,
  })
  t.equal((await jane.listNamespacedConfigMap({ namespace })).items.length, 1)
  one.journal.assert({ user: 'jane', verb: 'list' }, 2)
  const stranger = new KubeConfig()
  stranger.loadFromString(two.kubeconfigOf({ name: 'kubernetes-admin', groups: ['system:masters'] }))
  stranger.clusters[0] = {
    ...stranger.clusters[0]!,
    server: one.url,
    caData: Buffer.from(one.access.ca).toString('base64'),
  }
  await t.rejects(stranger.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace }), { code: 401 })
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

t.test('control loops may stand for election, as with the flags', async (t) => {
  const lease = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true }
  const cluster = await start(t, {
    nodes: 0,
    leaderElect: true,
    leaderElectLeaseDuration: '3s',
    leaderElectRenewDeadline: 2000,
    leaderElectRetryPeriod: '500ms',
    leaderElectResourceName: 'loops',
    leaderElectResourceNamespace: 'default',
  })
  const held = await cluster.client.get<KubeObject>(lease, { namespace: 'default', name: 'loops' })
  t.match(held.spec, { leaseDurationSeconds: 3 })
})
