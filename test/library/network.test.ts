/** `startCluster({ network: 'pod' })`: tests of servers that all listen on one port. */
import t from 'tap'
import { whyNoNetworks } from '../../kubelet/runtime/process/network/door.ts'
import { startCluster } from '../../library/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

t.test('two pods that listen on one port of all addresses', async (t) => {
  const why = await whyNoNetworks()
  if (why) return skipOrFail(t, why)
  await using cluster = await startCluster({ network: 'pod', shutdownGracePeriod: '0s' })
  const command = [process.execPath, '-e', "require('http').createServer((_, answer) => answer.end()).listen(80)"]
  const readinessProbe = { httpGet: { port: 80 }, periodSeconds: 1 }
  for (const name of ['one', 'two'])
    await cluster.client.create(pods, podOf({ name, command, readinessProbe }), { namespace: 'default' })
  const all = async () => (await cluster.client.list<Pod>(pods, { namespace: 'default' })).items
  await until(async () => (await all()).every(isReady), { what: 'both to be ready' })
  t.equal(new Set((await all()).map(({ status }) => status?.podIP)).size, 2)
})

t.test('a network of another name', async (t) => {
  await t.rejects(startCluster({ network: 'bridge' as 'pod' }), /network must be one of host, pod/)
})
