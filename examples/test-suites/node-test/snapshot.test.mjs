// node --test: one stage for all tests, set up once; each finds it as it was.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'

const namespace = 'shop'
let cluster
let core
let stage
before(async () => {
  cluster = await startCluster({ apiOnly: true })
  core = await cluster.apiClient(CoreV1Api)
  await core.createNamespace({ body: { metadata: { name: namespace } } })
  for (const name of ['apples', 'pears']) {
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { price: '1' } } })
  }
  stage = await cluster.snapshot()
})
beforeEach(() => cluster.restore(stage))
after(() => cluster.close())

const prices = async () => {
  const { items } = await core.listNamespacedConfigMap({ namespace })
  return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data.price]))
}

test('a test may raise prices', async () => {
  await core.replaceNamespacedConfigMap({
    namespace,
    name: 'apples',
    body: { metadata: { name: 'apples' }, data: { price: '2' } },
  })
  assert.deepEqual(await prices(), { apples: '2', pears: '1' })
})

test('or sell everything', async () => {
  await core.deleteCollectionNamespacedConfigMap({ namespace })
  assert.deepEqual(await prices(), {})
})

test('the next one finds the stage as it was', async () => {
  assert.deepEqual(await prices(), { apples: '1', pears: '1' })
})
