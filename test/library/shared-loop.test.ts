/** Callers within the process leave the event loop to clients at its sockets. */
import { CoreV1Api } from '@kubernetes/client-node'
import t from 'tap'
import { resources } from '../../library/index.ts'
import { loopShare } from '../../shared/clock/loop-share.ts'
import { namespace, start } from './stage.ts'

t.test('a client is answered while a thousand objects are created within the process', async (t) => {
  const cluster = await start(t)
  const core = (await cluster.kubeConfig()).makeApiClient(CoreV1Api)
  await core.readNamespace({ name: namespace })
  const count = 1_000
  let created = 0
  const creates = Array.from({ length: count }, async (_, i) => {
    await cluster.client.create(resources.configMaps, { metadata: { name: `map-${i}`, namespace } })
    created++
  })
  await core.readNamespace({ name: namespace })
  t.ok(created < count, `${created} of ${count} were created before the answer`)
  await Promise.all(creates)
  t.equal((await cluster.client.list(resources.configMaps, { namespace })).items.length, count, 'none is lost')
})

t.test('calls begin in their order, and some of them in each turn of the event loop', async (t) => {
  const begun: number[] = []
  const calls = Array.from({ length: 500 }, async (_, i) => {
    await loopShare.turn()
    begun.push(i)
  })
  await Promise.resolve()
  t.ok(begun.length > 0 && begun.length < calls.length, `${begun.length} begin at once`)
  t.ok(loopShare.isFull, 'the others wait')
  await Promise.all(calls)
  t.same(begun, [...calls.keys()], 'in their order')
  t.notOk(loopShare.isFull)
})
