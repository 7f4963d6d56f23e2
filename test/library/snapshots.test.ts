import t from 'tap'
import { resources } from '../../library/index.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps, namespaces } = resources

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
