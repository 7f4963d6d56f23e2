// node --test: five minutes that pass in no time.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { resources, startCluster } from 'kubestage'

const { nodes, pods } = resources
const web = { namespace: 'default', name: 'web' }
let cluster
before(async () => {
  cluster = await startCluster({ simulatedNodes: 1, time: 'virtual' })
})
after(() => cluster.close())

test('a pod bears maintenance of its node for five minutes, and no longer', async () => {
  const tolerations = [{ key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }]
  const containers = [{ name: 'main', image: 'web', command: ['serve'] }]
  await cluster.client.create(pods, { metadata: web, spec: { containers, tolerations } })
  await cluster.clock.advance('5s')
  await cluster.waitFor(pods, web, ({ status }) => status?.phase === 'Running')

  const taints = [{ key: 'maintenance', effect: 'NoExecute' }]
  await cluster.client.patch(nodes, { name: 'simulated-1' }, { spec: { taints } })
  await cluster.clock.advance('4m59s')
  const { metadata } = await cluster.client.get(pods, web)
  assert.equal(metadata.deletionTimestamp, undefined)

  await cluster.clock.advance('40s')
  await cluster.waitForDeleted(pods, web)
  const { reason } = await cluster.terminations.of('web')
  assert.equal(reason, 'IntolerableTaint')
})
