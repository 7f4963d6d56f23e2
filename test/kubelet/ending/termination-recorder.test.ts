import t from 'tap'
import { ApiTerminationRecorder } from '../../../kubelet/ending/record/termination-recorder.ts'
import type { LostRequests, Termination } from '../../../shared/api/termination.ts'
import { terminations } from '../../../shared/client/resources.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { until } from '../../harness/until.ts'
import { createMemoryApi } from '../memory-api.ts'

t.test('a record that cannot be made is told, and the records behind it are written', async (t) => {
  const clock = createVirtualClock()
  const { client } = createMemoryApi(clock)
  const lost: [pod: string | undefined, message: string][] = []
  const recorder = new ApiTerminationRecorder({
    client,
    clock,
    nodeName: 'n1',
    containers: async () => [],
    onError: (error, { metadata }) => lost.push([metadata.name, (error as Error).message]),
    onMissing: () => t.fail('the API has terminations'),
    onRecord: ({ reason }) => {
      if (reason === 'Planted') throw new Error('a planted error')
    },
  })
  for (const [name, reason] of [
    ['a', 'Planted'],
    ['b', 'Update'],
  ] as const) {
    const pod = { metadata: { name, uid: name, namespace: 'default' }, spec: { containers: [] } }
    recorder.endsIdle({ pod, cause: 'Evicted', reason, hasRun: true })
    recorder.podEnded(name, { status: { phase: 'Failed' } })
  }
  await recorder.flush()
  t.same(lost, [['a', 'a planted error']])
  const { items } = await client.list<Termination>(terminations, { namespace: 'default' })
  t.match(items, [{ podName: 'b', reason: 'Update' }])
  t.equal(items.length, 1)
})

t.test('what Services lost at a pod is added to its record later', async (t) => {
  const clock = createVirtualClock()
  const { client } = createMemoryApi(clock)
  const counted = Promise.withResolvers<LostRequests[]>()
  const recorder = new ApiTerminationRecorder({
    client,
    clock,
    nodeName: 'n1',
    containers: async () => [],
    lostAt: async ({ status }) => (status?.podIP === '10.244.0.5' ? counted.promise : []),
    onError: (error) => t.fail(`no error: ${error}`),
    onMissing: () => t.fail('the API has terminations'),
  })
  const records = async () => (await client.list<Termination>(terminations, { namespace: 'default' })).items
  for (const [name, podIP] of [
    ['a', '10.244.0.5'],
    ['b', '10.244.0.6'],
  ] as const) {
    const pod = { metadata: { name, uid: name, namespace: 'default' }, spec: { containers: [] }, status: { podIP } }
    recorder.endsIdle({ pod, cause: 'Evicted', hasRun: true })
    recorder.podEnded(name, { status: { phase: 'Failed' } })
  }
  await recorder.flush()
  t.same(
    (await records()).map(({ podName, lostRequests }) => [podName, lostRequests]),
    [
      ['a', undefined],
      ['b', undefined],
    ],
    'no record waits for it',
  )
  counted.resolve([{ kind: 'refused', count: 7 }])
  const told = async () => (await records()).flatMap(({ podName, lostRequests }) => (lostRequests ? [podName] : []))
  await until(async () => (await told()).length > 0, { what: 'the record to tell' })
  t.same(await told(), ['a'])
})
