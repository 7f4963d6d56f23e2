// npx vitest run graceful.vitest.test.mjs
import { resources, startCluster } from 'kubestage'
import { afterAll, beforeAll, expect, test } from 'vitest'

const { pods } = resources
const web = { namespace: 'default', name: 'web' }
let cluster
beforeAll(async () => {
  cluster = await startCluster({ simulatedNodes: 1, time: 'virtual' })
})
afterAll(() => cluster.close())

test('a pod that is deleted has its grace, however long', async () => {
  const preStop = { sleep: { seconds: 600 } }
  const main = { name: 'main', image: 'web', command: ['serve'], lifecycle: { preStop } }
  await cluster.client.create(pods, {
    metadata: web,
    spec: { terminationGracePeriodSeconds: 900, containers: [main] },
  })
  await cluster.clock.advance('5s')
  await cluster.waitFor(pods, web, ({ status }) => status?.phase === 'Running')
  await cluster.client.delete(pods, web, { reason: 'Update' })
  await cluster.clock.advance('9m')
  expect(await cluster.client.get(pods, web)).toMatchObject({ metadata: { deletionGracePeriodSeconds: 900 } })
  await cluster.clock.advance('2m')
  await cluster.waitForDeleted(pods, web)
  expect(await cluster.terminations.of('web')).toMatchObject({ reason: 'Update' })
})
