import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node'
import t from 'tap'
import { resources } from '../../library/index.ts'
import type { ConfigMap, Pod } from '../../shared/api/types.ts'
import { podOf } from '../harness/pods.ts'
import { until } from '../harness/until.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps, namespaces, pods } = resources

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
  t.same((await client.list<ConfigMap>(configMaps, { namespace })).items, [])
  t.same((await client.list(namespaces)).items.length, 4)
})

t.test('a thousand objects are restored in no time', async (t) => {
  const cluster = await start(t)
  const names = Array.from({ length: 1000 }, (_, i) => `c${i}`)
  for (const name of names) await cluster.client.create(configMaps, configMap(name, { text: 'x'.repeat(1000) }))
  const snapshot = await cluster.snapshot()
  for (const name of names) await cluster.client.delete(configMaps, { namespace, name })
  const before = process.cpuUsage()
  t.same(await cluster.restore(snapshot), { created: 1000, changed: 0, deleted: 0 })
  const { user, system } = process.cpuUsage(before)
  t.comment(`restored in ${((user + system) / 1000).toFixed(1)} ms of CPU time`)
})

t.test("the client library's informer stays in step, and lists once", async (t) => {
  const cluster = await start(t)
  const core = await cluster.apiClient(CoreV1Api)
  const config = new KubeConfig()
  config.loadFromString(cluster.kubeconfig)
  for (const name of ['a', 'b', 'c']) await cluster.client.create(configMaps, configMap(name, { is: 'old' }))
  const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    core.listNamespacedConfigMap({ namespace }),
  )
  const errors: unknown[] = []
  informer.on('error', (error) => void errors.push(error))
  await informer.start()
  t.teardown(() => informer.stop())
  const known = () =>
    Object.fromEntries(
      informer
        .list()
        .map(({ metadata, data }) => [metadata?.name, data?.is])
        .sort(),
    )
  const same = async () => {
    const { items } = await core.listNamespacedConfigMap({ namespace })
    const expected = JSON.stringify(items.map(({ metadata, data }) => [metadata?.name, data?.is]))
    await until(() => JSON.stringify(Object.entries(known())) === expected, { what: expected })
    return known()
  }
  const snapshot = await cluster.snapshot()
  for (let round = 0; round < 3; round++) {
    await cluster.client.delete(configMaps, { namespace, name: 'a' })
    await cluster.client.patch(configMaps, { namespace, name: 'b' }, { data: { is: 'new' } })
    await cluster.client.create(configMaps, configMap('d', { is: 'surplus' }))
    t.same(await same(), { b: 'new', c: 'old', d: 'surplus' })
    await cluster.restore(snapshot)
    t.same(await same(), { a: 'old', b: 'old', c: 'old' })
  }
  t.same(errors, [])
  cluster.journal.assert({ verb: 'watch', resource: 'configmaps' }, 1)
})

t.test('processes follow: those of pods that are gone end, those of pods that are back are started', async (t) => {
  const cluster = await start(t, {})
  const folder = t.testdir()
  const script = `cd ${folder}; trap "echo end >> $NAME; exit 0" TERM; echo start >> $NAME; while :; do sleep 0.02; done`
  const lifeOf = (name: string): string => {
    const file = join(folder, name)
    return existsSync(file) ? readFileSync(file, 'utf8').trim().replaceAll('\n', ' ') : ''
  }
  const lives = (name: string, life: string) => until(() => lifeOf(name) === life, { what: `${name}: ${life}` })
  const begin = async (name: string): Promise<Pod> => {
    const pod = podOf({ name, command: ['sh', '-c', script], hostFolder: folder })
    pod.spec.containers[0]!.env = [{ name: 'NAME', value: name }]
    await cluster.client.create(pods, pod, { namespace })
    await lives(name, 'start')
    return cluster.waitFor<Pod>(pods, { namespace, name }, ({ status }) => status?.phase === 'Running')
  }
  await Promise.all(['kept', 'deleted'].map(begin))
  const snapshot = await cluster.snapshot()
  await begin('surplus')
  await cluster.client.delete(pods, { namespace, name: 'deleted' })
  await cluster.client.patch(pods, { namespace, name: 'kept' }, { metadata: { labels: { changed: 'yes' } } })
  await cluster.waitForDeleted(pods, { namespace, name: 'deleted' })

  await cluster.restore(snapshot)
  await Promise.all([lives('deleted', 'start end start'), lives('surplus', 'start end')])
  t.equal(lifeOf('kept'), 'start', 'who was there all the time runs on')
  const back = await cluster.waitFor<Pod>(
    pods,
    { namespace, name: 'deleted' },
    ({ status }) => status?.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready,
  )
  t.equal(back.status?.phase, 'Running')

  await cluster.reset()
  await Promise.all([lives('kept', 'start end'), lives('deleted', 'start end start end')])
  t.same((await cluster.client.list(pods)).items, [])
})
