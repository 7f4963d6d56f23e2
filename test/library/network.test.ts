/** `startCluster({ network: 'pod' })`: tests of servers that all listen on one port. */
import t from 'tap'
import { whyNoNetworks } from '../../kubelet/runtime/process/network/door.ts'
import { startCluster } from '../../library/index.ts'
import type { Event, Pod } from '../../shared/api/types.ts'
import { events, pods } from '../../shared/client/resources.ts'
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

t.test('a container that asks for what no machine can give it: refused, or told', async (t) => {
  // Programs of the machine have its users.
  const pod = podOf({ name: 'own-users', command: ['sleep', '1000'], spec: { hostUsers: false } })
  const startedWith = async (options: { strict?: boolean }): Promise<{ waiting?: object; events: string[] }> => {
    await using cluster = await startCluster({ ...options, shutdownGracePeriod: '0s' })
    await cluster.client.create(pods, pod, { namespace: 'default' })
    const { state } = await until(
      async () => {
        const { status } = await cluster.client.get<Pod>(pods, { namespace: 'default', name: 'own-users' })
        const [container] = status?.containerStatuses ?? []
        const { reason = 'ContainerCreating' } = container?.state?.waiting ?? { reason: '' }
        return reason === 'ContainerCreating' ? undefined : container
      },
      { what: 'the container to run, or to say why not' },
    )
    const reasons = async () =>
      (await cluster.client.list<Event>(events, { namespace: 'default' })).items.map(({ reason = '' }) => reason)
    const told = await until(
      async () => ((await reasons()).some((reason) => /Started|Failed/.test(reason)) ? reasons() : undefined),
      {
        what: 'the events',
      },
    )
    return { waiting: state?.waiting, events: told }
  }
  const refused = await startedWith({ strict: true })
  t.match(refused.waiting, {
    reason: 'CreateContainerConfigError',
    message: /^refused by --strict: hostUsers: false is not applied: /,
  })
  t.notOk(refused.events.includes('HostUsersNotApplied'))
  const told = await startedWith({})
  t.notOk(told.waiting)
  t.ok(told.events.includes('HostUsersNotApplied'))
  await t.rejects(startCluster({ strict: 'yes' as unknown as boolean }), /strict must be/)
})

t.test('a network of another name', async (t) => {
  await t.rejects(startCluster({ network: 'bridge' as 'pod' }), /network must be one of host, pod/)
})
