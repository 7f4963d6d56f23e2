/** What pods of simulated nodes tell of themselves, where time goes on by itself. */
import t, { type Test } from 'tap'
import { type Cluster, type KubeObject, resources } from '../../library/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { until } from '../harness/until.ts'
import { namespace, start } from './stage.ts'

const { events, pods, terminations } = resources
const named = (name: string) => ({ namespace, name })
const main = { name: 'main', image: 'x', command: ['x'] }

/** What each pod was seen as, in order and without repetitions. */
function follow(t: Test, cluster: Cluster): Map<string, string[]> {
  const seen = new Map<string, string[]>()
  const end = new AbortController()
  t.teardown(() => end.abort())
  const read = async (): Promise<void> => {
    for await (const { type, object } of cluster.client.watch<Pod>(pods, { signal: end.signal })) {
      const states = seen.get(object.metadata.name ?? '') ?? []
      seen.set(object.metadata.name ?? '', states)
      const { status, metadata } = object
      const container = Object.keys(status?.containerStatuses?.[0]?.state ?? {})
      const state = [type === 'DELETED' ? 'gone' : status?.phase, ...container, metadata.deletionTimestamp && 'ending']
      const text = state.filter(Boolean).join(' ')
      if (states.at(-1) !== text) states.push(text)
    }
  }
  void read()
  return seen
}

t.test('they tell how they are, and no step on the way', async (t) => {
  const cluster = await start(t, { simulatedNodes: 1 })
  const { client } = cluster
  const seen = follow(t, cluster)
  const remove = async (name: string): Promise<void> => {
    await client.delete(pods, named(name))
    await cluster.waitForDeleted(pods, named(name))
  }
  const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running'

  await client.create(pods, { metadata: named('plain'), spec: { containers: [main] } })
  await cluster.waitFor<Pod>(pods, named('plain'), isRunning)
  await remove('plain')
  await until(() => seen.get('plain')?.at(-1)?.startsWith('gone'), { what: 'its end to be seen here, too' })
  t.same(seen.get('plain'), ['Pending', 'Running running', 'Running running ending', 'gone running ending'])

  const kept = { ...named('kept'), finalizers: ['example.com/look'] }
  await client.create(pods, { metadata: kept, spec: { containers: [main] } })
  await cluster.waitFor<Pod>(pods, named('kept'), isRunning)
  await client.delete(pods, named('kept'))
  const ended = await cluster.waitFor<Pod>(pods, named('kept'), ({ status }) => status?.phase === 'Failed')
  t.match(
    ended.status?.containerStatuses?.[0]?.state,
    { terminated: { exitCode: 143 } },
    'who keeps it sees how it ended',
  )
  await client.patch(pods, named('kept'), { metadata: { finalizers: null } })
  await cluster.waitForDeleted(pods, named('kept'))

  const volumes = [{ name: 'config', configMap: { name: 'none' } }]
  const stuck = { ...main, volumeMounts: [{ name: 'config', mountPath: '/config' }] }
  await client.create(pods, { metadata: named('stuck'), spec: { containers: [stuck], volumes } })
  const isWaiting = ({ status }: Pod): boolean => status?.containerStatuses?.[0]?.state?.waiting !== undefined
  await cluster.waitFor<Pod>(pods, named('stuck'), isWaiting)
  type Told = KubeObject & { reason: string; involvedObject: { kind: string } }
  const told = async (): Promise<string[]> => {
    const { items } = await client.list<Told>(events, { namespace })
    const ofPods = items.filter(({ involvedObject }) => involvedObject.kind === 'Pod')
    return [...new Set(ofPods.map(({ reason }) => reason).filter((reason) => reason !== 'Scheduled'))]
  }
  await until(async () => (await told()).includes('FailedMount'), { what: 'what is wrong to be told' })
  await remove('stuck')
  t.same(await told(), ['FailedMount'], 'and nothing else: there is a node for the first pod')
  t.same((await client.list(terminations, { namespace })).items, [])
})

t.test('they tell each step where that is wanted', async (t) => {
  const cluster = await start(t, { simulatedNodes: 1, simulatedSteps: true })
  const { client } = cluster
  const seen = follow(t, cluster)
  await client.create(pods, { metadata: named('web'), spec: { containers: [main] } })
  await cluster.waitFor<Pod>(pods, named('web'), ({ status }) => status?.phase === 'Running')
  await client.delete(pods, named('web'))
  await cluster.waitForDeleted(pods, named('web'))
  t.ok(seen.get('web')?.includes('Pending waiting'), 'its container was waited for')
  t.ok(seen.get('web')?.includes('Failed terminated ending'), 'its end was told')
  t.match(await cluster.terminations.of('web'), { podName: 'web' })
  const isTold = async (): Promise<boolean> => {
    const { items } = await client.list<KubeObject & { reason: string }>(events, { namespace })
    return items.some(({ reason }) => reason === 'Started')
  }
  await until(isTold, { what: 'the event of its start, which is told beside it' })
})
