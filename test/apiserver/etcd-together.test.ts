/** What two API servers do at the same time, or right after each other. */
import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { ConfigMap, KubeObject, Pod, PodDisruptionBudget, WatchEvent } from '../../shared/api/types.ts'
import { configMaps, podDisruptionBudgets, pods, serviceAccounts } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const configmaps = '/api/v1/namespaces/default/configmaps'
const podsPath = '/api/v1/namespaces/default/pods'
const delayMs = 20

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage, like })
}

const post = (server: TestApiServer, path: string, body: object) => server.send(path, { method: 'POST', body })
const revisionOf = ({ body }: Received): string => (body as KubeObject).metadata.resourceVersion ?? ''

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('two API servers', async (t) => {
    const etcd = await startEtcd(t, program)
    // What etcd tells the second server comes late.
    const { port } = await startTcpProxy(t, etcd.url, { delayMs })
    const a = await startServer(t, etcd.url)
    const b = await startServer(t, `http://127.0.0.1:${port}`, a)

    await t.test('a resourceVersion of one that the other does not know yet is waited for', async (t) => {
      for (const query of ['resourceVersion=RV', 'resourceVersion=RV&resourceVersionMatch=NotOlderThan']) {
        const made = await post(a, configmaps, { metadata: { generateName: 'fresh-' } })
        const { name } = (made.body as KubeObject).metadata
        const { body } = await b.send(`${configmaps}?${query.replace('RV', revisionOf(made))}`)
        t.ok(
          (body as { items: KubeObject[] }).items.some(({ metadata }) => metadata.name === name),
          query,
        )
      }
      const before = await post(a, configmaps, { metadata: { name: 'exact' } })
      const after = await a.send(`${configmaps}/exact`, { method: 'DELETE' })
      const at = `${configmaps}?resourceVersionMatch=Exact&resourceVersion=${revisionOf(before)}`
      const { items } = (await b.send(at)).body as { items: KubeObject[] }
      t.ok(
        items.some(({ metadata }) => metadata.name === 'exact'),
        'as it was then',
      )
      t.equal(after.status, 200)
      const got = await post(a, configmaps, { metadata: { name: 'got' } })
      t.match(await b.send(`${configmaps}/got?resourceVersion=${revisionOf(got)}`), { status: 200 })
    })

    await t.test('initial events of a watch are not older than the resourceVersion of the other server', async (t) => {
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      for (let round = 0; round < 5; round++) {
        const made = await post(a, configmaps, { metadata: { name: `initial-${round}` } })
        const query = `watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=${revisionOf(made)}`
        const stream = b.session().request({ ':path': `${configmaps}?${query}` })
        const seen: WatchEvent<KubeObject>[] = []
        let rest = ''
        stream.setEncoding('utf8').on('data', (part: string) => {
          const lines = (rest + part).split('\n')
          rest = lines.pop() ?? ''
          seen.push(...lines.map((line) => JSON.parse(line)))
        })
        await until(() => seen.some(({ type }) => type === 'BOOKMARK'), { what: 'the end of the initial events' })
        stream.close()
        t.ok(
          seen.some(({ object }) => object.metadata.name === `initial-${round}`),
          `round ${round}`,
        )
        const { metadata } = seen.find(({ type }) => type === 'BOOKMARK')!.object
        t.ok(Number(metadata.resourceVersion) >= Number(revisionOf(made)), 'and neither is their end')
      }
    })

    await t.test('a server that started later shows lists as they were before', async (t) => {
      const named = ({ body }: Received): (string | undefined)[] =>
        (body as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name)
      const labelled = (name: string) => ({ metadata: { name, labels: { set: 'paged' } } })
      for (const name of ['p-1', 'p-2', 'p-3']) await post(a, configmaps, labelled(name))
      const first = await a.send(`${configmaps}?labelSelector=set%3Dpaged&limit=1`)
      const { metadata } = first.body as { metadata: { continue: string; resourceVersion: string } }
      await a.send(`${configmaps}/p-2`, { method: 'DELETE' })
      await post(a, configmaps, labelled('p-4'))
      const later = await startServer(t, etcd.url, a)
      const rest = `${configmaps}?labelSelector=set%3Dpaged&limit=1&continue=${encodeURIComponent(metadata.continue)}`
      const second = await later.send(rest)
      t.same([second.status, ...named(second)], [200, 'p-2'])
      const token = (second.body as { metadata: { continue: string } }).metadata.continue
      t.same(named(await later.send(`${rest.replace(/continue=.*/, '')}continue=${encodeURIComponent(token)}`)), [
        'p-3',
      ])
      const at = `labelSelector=set%3Dpaged&resourceVersionMatch=Exact&resourceVersion=${metadata.resourceVersion}`
      const exact = await later.send(`${configmaps}?${at}`)
      t.same([exact.status, ...named(exact)], [200, 'p-1', 'p-2', 'p-3'])
      await later.close()
    })

    await t.test('generated names are never the same', async (t) => {
      const answers = await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          post(index % 2 ? a : b, configmaps, { metadata: { generateName: 'gen-' } }),
        ),
      )
      t.ok(answers.every(({ status }) => status === 201))
      t.equal(new Set(answers.map(({ body }) => (body as KubeObject).metadata.name)).size, 120)
    })

    await t.test('changes of one object at both that name no resourceVersion are all made', async (t) => {
      await post(a, configmaps, { metadata: { name: 'busy' } })
      const headers = { 'content-type': 'application/merge-patch+json' }
      const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`)
      const answers = await Promise.all(
        keys.map((key, index) =>
          (index % 2 ? a : b).send(`${configmaps}/busy`, { method: 'PATCH', headers, body: { data: { [key]: 'x' } } }),
        ),
      )
      t.same([...new Set(answers.map(({ status }) => status))], [200])
      t.same(Object.keys(((await b.send(`${configmaps}/busy`)).body as ConfigMap).data ?? {}).sort(), keys.sort())
    })

    await t.test('of creates of one name at both, one wins', async (t) => {
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          [a, b, a, b].map((server) => post(server, configmaps, { metadata: { name: `only-${round}` } })),
        )
        t.same(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
      }
    })

    await t.test('a token ends at both with the object it is bound to', async (t) => {
      const secrets = '/api/v1/namespaces/default/secrets'
      const account = '/api/v1/namespaces/default/serviceaccounts/default'
      for (const [kind, path] of [
        ['Secret', secrets],
        ['Pod', podsPath],
      ] as const)
        for (const [one, other] of [
          [a, b],
          [b, a],
        ] as const) {
          const name = `bound-${other === b ? 'a' : 'b'}`
          const spec = { serviceAccountName: 'default', containers: [{ name: 'c', image: 'x' }] }
          const made = await post(one, path, { metadata: { name }, ...(kind === 'Pod' && { spec }) })
          t.equal(made.status, 201)
          const { uid } = (made.body as KubeObject).metadata
          const boundObjectRef = { kind, apiVersion: 'v1', name, uid }
          const issued = await post(one, `${account}/token`, { spec: { boundObjectRef } })
          const { token } = (issued.body as { status: { token: string } }).status
          const headers = { authorization: `Bearer ${token}` }
          const greeted = async (server: TestApiServer) =>
            (await server.send('/api', { headers, anonymous: true })).status
          t.equal(await greeted(other), 200, kind)
          t.equal(
            (await one.send(`${path}/${name}`, { method: 'DELETE', body: { gracePeriodSeconds: 0 } })).status,
            200,
          )
          t.equal(await greeted(other), 401, `${kind}, deleted`)
          t.equal((await post(one, path, { metadata: { name }, ...(kind === 'Pod' && { spec }) })).status, 201)
          t.equal(await greeted(other), 401, `another ${kind} of the same name`)
          await one.send(`${path}/${name}`, { method: 'DELETE', body: { gracePeriodSeconds: 0 } })
        }
    })

    await t.test('priority levels of one limit at the other', async () => {
      const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
      const limited = { nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: { type: 'Reject' } }
      await post(a, `${flow}/prioritylevelconfigurations`, {
        metadata: { name: 'none' },
        spec: { type: 'Limited', limited },
      })
      const subjects = [{ kind: 'User', user: { name: 'jane' } }]
      const resourceRules = [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true },
      ]
      const spec = {
        matchingPrecedence: 2,
        priorityLevelConfiguration: { name: 'none' },
        rules: [{ subjects, resourceRules }],
      }
      await post(a, `${flow}/flowschemas`, { metadata: { name: 'jane' }, spec })
      const jane = { name: 'jane', groups: ['system:authenticated'] }
      const asked = async () => (await b.inject(jane, { method: 'GET', url: configmaps })).statusCode
      await until(async () => (await asked()) === 429, { what: 'the limit' })
      await a.send(`${flow}/flowschemas/jane`, { method: 'DELETE' })
      await until(async () => (await asked()) === 403, { what: 'the end of the limit' })
    })

    await t.test('an APIService and a StorageClass of one are there at the other', async (t) => {
      const spec = { group: 'x.example.com', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 }
      const service = { ...spec, service: { namespace: 'default', name: 'x' } }
      const path = '/apis/apiregistration.k8s.io/v1/apiservices'
      const made = await post(a, path, { metadata: { name: 'v1.x.example.com' }, spec: service })
      t.equal(made.status, 201)
      t.match(await b.send(`${path}/v1.x.example.com`), { status: 200, body: { spec } })
      const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
      const classes = '/apis/storage.k8s.io/v1/storageclasses'
      await post(a, classes, { metadata: { name: 'fast', annotations }, provisioner: 'x.example.com/x' })
      const claim = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
      const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
      t.match(await post(b, claims, { metadata: { name: 'c' }, ...claim }), {
        body: { spec: { storageClassName: 'fast' } },
      })
    })

    await t.test('events expire by leases, so at both at the same time', async (t) => {
      const path = '/api/v1/namespaces/default/events'
      const involvedObject = { kind: 'Pod', namespace: 'default', name: 'x' }
      const leaseOf = async (name: string): Promise<string> => {
        const request = { key: `/registry/events/default/${name}` }
        const { kvs } = await etcd.client.call('range', request, { isRepeatable: true })
        return String(kvs[0]?.lease ?? '0')
      }
      for (const [one, other, name] of [
        [a, b, 'of-a'],
        [b, a, 'of-b'],
      ] as const) {
        t.equal((await post(one, path, { metadata: { name }, involvedObject, reason: 'Tried' })).status, 201)
        const lease = await leaseOf(name)
        t.not(lease, '0')
        const count = { count: 2 }
        const headers = { 'content-type': 'application/merge-patch+json' }
        t.equal((await other.send(`${path}/${name}`, { method: 'PATCH', headers, body: count })).status, 200)
        t.not(await leaseOf(name), '0', 'also after a change at the other')
      }
    })
  })

  t.test('evictions at two servers at once leave the pods that the budget wants', async (t) => {
    const { url } = await startEtcd(t, program)
    const options = { storage: { engine: 'etcd', endpoints: [url] } as const }
    const first = await startTestControlPlane(t, options)
    const second = await startTestControlPlane(t, { ...options, pkiOf: first })
    await t.test('a client without a network sees what the other has acknowledged', async (t) => {
      for (let round = 0; round < 5; round++) {
        const ref = { namespace: 'default', name: `round-${round}` }
        await first.client.create<object>(configMaps, { metadata: ref })
        t.match(await second.client.get(configMaps, ref), { metadata: ref })
        await second.client.patch(configMaps, ref, { data: { by: 'second' } })
        await first.client.delete(configMaps, ref)
        const { items } = await second.client.list(configMaps, { namespace: 'default' })
        t.notOk(items.some(({ metadata }) => metadata.name === ref.name))
      }
    })

    await t.test(
      'ConfigMaps of the cluster and of the servers are written once, and again when one is deleted',
      async (t) => {
        const refs = [
          { namespace: 'kube-system', name: 'extension-apiserver-authentication' },
          { namespace: 'default', name: 'kube-root-ca.crt' },
        ]
        const read = async (plane: typeof first, ref: (typeof refs)[0]) =>
          plane.client.get<ConfigMap>(configMaps, ref).catch(() => undefined)
        for (const ref of refs) {
          const made = await until(() => read(first, ref), { what: ref.name })
          t.same(await read(second, ref), made)
          const added: string[] = []
          const stop = new AbortController()
          const query = {
            namespace: ref.namespace,
            resourceVersion: made.metadata.resourceVersion,
            signal: stop.signal,
          }
          void (async () => {
            for await (const { type, object } of second.client.watch<ConfigMap>(configMaps, query))
              if (object.metadata.name === ref.name) added.push(type)
          })().catch(() => {})
          await second.client.delete(configMaps, ref)
          const again = await until(() => read(first, ref), { what: `${ref.name} again` })
          t.same(again.data, made.data)
          // Each loop has had its turn when the answer to a later deletion is there as well.
          await first.client.delete(configMaps, ref)
          await until(() => read(second, ref), { what: `${ref.name} once more` })
          await until(() => added.length >= 4, { what: 'the events' })
          t.same(added, ['DELETED', 'ADDED', 'DELETED', 'ADDED'])
          stop.abort()
        }
      },
    )

    const namespace = 'default'
    const labels = { app: 'web' }
    const names = Array.from({ length: 12 }, (_, index) => `web-${index}`)
    const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    await until(() => first.client.get(serviceAccounts, { namespace, name: 'default' }).then(Boolean, () => false), {
      what: 'the service account',
    })
    for (const name of names) {
      const pod = { metadata: { name, namespace, labels }, spec: { containers: [{ name: 'c', image: 'x' }] } }
      await first.client.create<object>(pods, pod)
      await first.client.patch(pods, { namespace, name }, { status: ready }, { subresource: 'status' })
    }
    const spec = { minAvailable: 7, selector: { matchLabels: labels } }
    const budget = { namespace, name: 'web' }
    await first.client.create<object>(podDisruptionBudgets, { metadata: budget, spec })
    const get = async (url: string): Promise<unknown> => (await second.inject({ method: 'GET', url })).json()
    const allowed = async () => {
      const found = await get('/apis/policy/v1/namespaces/default/poddisruptionbudgets/web')
      return (found as PodDisruptionBudget).status?.disruptionsAllowed
    }
    await until(async () => (await allowed()) === 5, { what: 'the budget' })
    let evicted = 0
    let refused = 0
    const evict = async (plane: typeof first, name: string): Promise<void> => {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
      const { statusCode } = await plane.inject({
        method: 'POST',
        url: `${podsPath}/${name}/eviction`,
        payload: eviction,
      })
      if (statusCode === 201) evicted++
      else if (statusCode === 429) refused++
      else if (statusCode !== 404) t.fail(`${statusCode}`)
    }
    await Promise.all(names.flatMap((name) => [evict(first, name), evict(second, name)]))
    const left = async () => ((await get(podsPath)) as { items: Pod[] }).items.length
    t.ok((await left()) >= 7, `${await left()} pods are left`)
    await until(async () => (await allowed()) === (await left()) - 7, { what: 'the budget after the evictions' })
    for (let round = 0; round < 5; round++)
      await Promise.all(names.flatMap((name) => [evict(first, name), evict(second, name)]))
    t.equal(await left(), 7)
    t.equal(evicted >= 5 && refused > 0, true, `${evicted} evicted, ${refused} refused`)
  })
}
