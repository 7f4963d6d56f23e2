import t from 'tap'
import { ApiTerminationRecorder } from '../../../kubelet/ending/record/termination-recorder.ts'
import type { Termination } from '../../../shared/api/termination.ts'
import { terminations } from '../../../shared/client/resources.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
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
