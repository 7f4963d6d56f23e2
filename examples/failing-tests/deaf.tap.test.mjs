// npx tap deaf.tap.test.mjs
import { resources, startCluster } from 'kubestage'
import t from 'tap'

const { pods } = resources
const cluster = await startCluster({ recordOnFailure: 'records' })
t.afterEach((t) => cluster.afterTest(t))
t.teardown(() => cluster.close())

t.test('a worker stops when it is asked to', async (t) => {
  const worker = { namespace: 'default', name: 'worker' }
  // Nothing in it handles SIGTERM.
  const containers = [{ name: 'main', image: 'busybox', command: ['sleep', 'infinity'] }]
  await cluster.client.create(pods, { metadata: worker, spec: { containers, terminationGracePeriodSeconds: 1 } })
  await cluster.waitFor(pods, worker, ({ status }) => status?.phase === 'Running')
  await cluster.client.delete(pods, worker, { reason: 'Update' })
  await cluster.waitForDeleted(pods, worker)
  t.match(await cluster.terminations.of('worker'), { verdictType: 'Stopped' })
})
