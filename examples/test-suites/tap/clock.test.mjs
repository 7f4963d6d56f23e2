// tap: five minutes that pass in no time.
import { resources, startCluster } from 'kubestage'
import t from 'tap'

const { nodes, pods } = resources
const web = { namespace: 'default', name: 'web' }

t.test('a pod bears maintenance of its node for five minutes, and no longer', async (t) => {
  const cluster = await startCluster({ simulatedNodes: 1, time: 'virtual' })
  t.teardown(() => cluster.close())
  const tolerations = [{ key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }]
  const containers = [{ name: 'main', image: 'web', command: ['serve'] }]
  await cluster.client.create(pods, { metadata: web, spec: { containers, tolerations } })
  await cluster.clock.advance('5s')
  await cluster.waitFor(pods, web, ({ status }) => status?.phase === 'Running')

  const taints = [{ key: 'maintenance', effect: 'NoExecute' }]
  await cluster.client.patch(nodes, { name: 'simulated-1' }, { spec: { taints } })
  await cluster.clock.advance('4m59s')
  t.notOk((await cluster.client.get(pods, web)).metadata.deletionTimestamp, 'it is still there')

  await cluster.clock.advance('40s')
  await cluster.waitForDeleted(pods, web)
  t.match(await cluster.terminations.of('web'), { reason: 'IntolerableTaint' })
})
