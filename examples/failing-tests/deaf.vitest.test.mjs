// npx vitest run deaf.vitest.test.mjs
import { resources, startCluster } from 'kubestage'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

const { pods } = resources
let cluster
beforeAll(async () => {
  cluster = await startCluster({ recordOnFailure: 'records' })
})
afterEach((context) => cluster.afterTest(context))
afterAll(() => cluster.close())

test('a worker stops when it is asked to', async () => {
  const worker = { namespace: 'default', name: 'worker' }
  // Nothing in it handles SIGTERM.
  const containers = [{ name: 'main', image: 'busybox', command: ['sleep', 'infinity'] }]
  await cluster.client.create(pods, { metadata: worker, spec: { containers, terminationGracePeriodSeconds: 1 } })
  await cluster.waitFor(pods, worker, ({ status }) => status?.phase === 'Running')
  await cluster.client.delete(pods, worker, { reason: 'Update' })
  await cluster.waitForDeleted(pods, worker)
  expect(await cluster.terminations.of('worker')).toMatchObject({ verdictType: 'Stopped' })
}, 20_000)
