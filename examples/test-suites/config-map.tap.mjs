// npx tap config-map.tap.mjs (`await using` needs Node 24; before: t.teardown(() => cluster.close()))
import { resources, startCluster } from 'kubestage'
import t from 'tap'

t.test('a config map is stored', async (t) => {
  await using cluster = await startCluster({ apiOnly: true })
  const { configMaps } = resources
  await cluster.client.create(configMaps, { metadata: { name: 'a', namespace: 'default' }, data: { colour: 'blue' } })
  t.match(await cluster.client.get(configMaps, { namespace: 'default', name: 'a' }), { data: { colour: 'blue' } })
})
