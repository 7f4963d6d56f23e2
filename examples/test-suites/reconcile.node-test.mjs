// node --test reconcile.node-test.mjs
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'

let cluster
let core
before(async () => {
  cluster = await startCluster({ apiOnly: true })
  const config = new KubeConfig()
  config.loadFromString(cluster.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
})
beforeEach(() => cluster.reset())
after(() => cluster.close())

/** What is under test: marks every config map of a namespace, and tries again when the server says that it is busy. */
async function markAll(namespace) {
  const { items } = await core.listNamespacedConfigMap({ namespace })
  for (const { metadata } of items) {
    const body = [{ op: 'add', path: '/data', value: { marked: 'yes' } }]
    for (let attempt = 1; ; attempt++) {
      try {
        await core.patchNamespacedConfigMap({ name: metadata.name, namespace, body })
        break
      } catch (error) {
        if (error.code !== 503 || attempt === 3) throw error
      }
    }
  }
}

const create = (name) => core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name } } })

test('marks what there is, once each', async () => {
  await Promise.all(['a', 'b'].map(create))
  await markAll('default')
  cluster.journal.assert({ verb: 'patch', resource: 'configmaps', code: 200 }, 2)
})

test('bears a server that is busy for a moment', async () => {
  await create('a')
  const fault = cluster.faults.add({ verb: 'patch', times: 2, then: { status: 503 } })
  await markAll('default')
  assert.equal(fault.hits(), 2)
  cluster.journal.assert({ verb: 'patch' }, 3)
})

test('each test begins anew', async () => {
  const { items } = await core.listNamespacedConfigMap({ namespace: 'default' })
  assert.deepEqual(items, [])
})

test('what was set up once is brought back for each test', async () => {
  await Promise.all(['a', 'b', 'c'].map(create))
  const stage = await cluster.snapshot()
  await core.deleteCollectionNamespacedConfigMap({ namespace: 'default' })
  const { created } = await cluster.restore(stage)
  assert.equal(created, 3)
})
