// NODE_OPTIONS=--experimental-vm-modules npx jest --testMatch '**/*.jest.mjs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { resources, startCluster } from 'kubestage'

const { pods } = resources
const web = { namespace: 'default', name: 'web' }
let cluster
beforeAll(async () => {
  cluster = await startCluster()
}, 20_000)
afterAll(() => cluster.close())

test('a pod runs, and says why it ended', async () => {
  const command = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.05; done']
  await cluster.client.create(pods, {
    metadata: web,
    spec: { containers: [{ name: 'main', image: 'busybox', command }] },
  })
  await cluster.waitFor(pods, web, ({ status }) => status?.phase === 'Running')
  await cluster.client.delete(pods, web, { reason: 'Update' })
  const termination = await cluster.terminations.of('web')
  expect(termination).toMatchObject({ podName: 'web', reason: 'Update' })
}, 20_000)
