// node --test: what the program said to the server, and how often.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'

const namespace = 'default'
let cluster
let core
before(async () => {
  cluster = await startCluster({ apiOnly: true })
  core = await cluster.apiClient(CoreV1Api, { name: 'marker', groups: ['system:masters'] })
})
beforeEach(() => cluster.reset())
after(() => cluster.close())

/** What is under test: labels each config map that has no label yet. */
async function markAll() {
  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: '!marked' })
  for (const { metadata } of items) {
    const body = [{ op: 'add', path: '/metadata/labels', value: { marked: 'yes' } }]
    await core.patchNamespacedConfigMap({ name: metadata.name, namespace, body })
  }
}
const create = (name) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })

test('writes once, and then only reads', async () => {
  await Promise.all(['a', 'b'].map(create))
  const patches = { verb: 'patch', resource: 'configmaps', user: 'marker', code: 200 }
  await markAll()
  cluster.journal.assert(patches, 2)
  await markAll()
  cluster.journal.assert(patches, 2)
})

test('a request that is waited for', async () => {
  const seen = cluster.journal.waitFor({ verb: 'create', resource: 'configmaps', name: 'late' })
  await create('late')
  const { user, code, durationMs } = await seen
  assert.deepEqual({ user, code, isTimed: durationMs > 0 }, { user: 'marker', code: 201, isTimed: true })
})

test('a failure prints what came instead', async () => {
  await create('a')
  assert.throws(
    () => cluster.journal.assert({ verb: 'delete' }),
    /there were 0; the last 1 of 1 that came:\n.* create /,
  )
})
