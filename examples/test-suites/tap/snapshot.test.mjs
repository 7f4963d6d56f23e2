// tap: one stage for all tests, set up once; each finds it as it was.
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'
import t from 'tap'

const namespace = 'shop'
const cluster = await startCluster({ apiOnly: true })
const core = await cluster.apiClient(CoreV1Api)
await core.createNamespace({ body: { metadata: { name: namespace } } })
for (const name of ['apples', 'pears']) {
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { price: '1' } } })
}
const stage = await cluster.snapshot()
t.beforeEach(() => cluster.restore(stage))
t.teardown(() => cluster.close())

const prices = async () => {
  const { items } = await core.listNamespacedConfigMap({ namespace })
  return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data.price]))
}

t.test('a test may raise prices', async (t) => {
  const body = { metadata: { name: 'apples' }, data: { price: '2' } }
  await core.replaceNamespacedConfigMap({ namespace, name: 'apples', body })
  t.same(await prices(), { apples: '2', pears: '1' })
})

t.test('or sell everything', async (t) => {
  await core.deleteCollectionNamespacedConfigMap({ namespace })
  t.same(await prices(), {})
})

t.test('the next one finds the stage as it was', async (t) => {
  t.same(await prices(), { apples: '1', pears: '1' })
})
