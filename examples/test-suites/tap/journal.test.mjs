// tap: what the program said to the server, and how often.
import { CoreV1Api } from '@kubernetes/client-node'
import { startCluster } from 'kubestage'
import t from 'tap'

const namespace = 'default'
const cluster = await startCluster({ apiOnly: true })
const core = await cluster.apiClient(CoreV1Api, { name: 'marker', groups: ['system:masters'] })
t.beforeEach(() => cluster.reset())
t.teardown(() => cluster.close())

/** What is under test: labels each config map that has no label yet. */
async function markAll() {
  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: '!marked' })
  for (const { metadata } of items) {
    const body = [{ op: 'add', path: '/metadata/labels', value: { marked: 'yes' } }]
    await core.patchNamespacedConfigMap({ name: metadata.name, namespace, body })
  }
}
const create = (name) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })

t.test('writes once, and then only reads', async () => {
  await Promise.all(['a', 'b'].map(create))
  const patches = { verb: 'patch', resource: 'configmaps', user: 'marker', code: 200 }
  await markAll()
  cluster.journal.assert(patches, 2)
  await markAll()
  cluster.journal.assert(patches, 2)
})

t.test('a request that is waited for', async (t) => {
  const seen = cluster.journal.waitFor({ verb: 'create', resource: 'configmaps', name: 'late' })
  await create('late')
  t.match(await seen, { user: 'marker', code: 201, durationMs: Number })
})

t.test('a failure prints what came instead', async (t) => {
  await create('a')
  t.throws(() => cluster.journal.assert({ verb: 'delete' }), /there were 0; the last 1 of 1 that came:\n.* create /)
})
