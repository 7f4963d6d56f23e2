/** A node with room for one pod, on which a critical pod takes the place of another. */
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { followPod, isReady, podOf, politeScript } from '../harness/pods.ts'
import { startWitness } from '../harness/reasons.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

t.test('a preempted pod is told Eviction, and its record says Preempted', async (t) => {
  const { client } = await startTestCluster(t, '--max-pods=1')
  const recordOf = async (podName: string) =>
    (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${podName}` })).items[0]
  const folder = scratchFolder(t, 'preemption')
  const told = await startWitness('victim', { client, folder, spec: { restartPolicy: 'Never' } })
  const spec = { priorityClassName: 'system-node-critical', nodeName: 'node-1' }
  await client.create(pods, podOf({ name: 'critical', command: ['sh', '-c', politeScript], spec }), { namespace })
  await (await followPod(client, { namespace, name: 'critical' })).until(isReady, 'to be ready')
  t.equal(told(), 'Eviction\n--reason=Eviction\n', 'the hook is told')
  const record = await until(() => recordOf('victim'), { what: 'the record' })
  t.match(record, {
    cause: 'Preempted',
    reason: 'Eviction',
    message: /^(Preempted in order to admit critical pod|Pod was preempted by Kubelet)/,
  })
  const { status } = await client.get<Pod>(pods, { namespace, name: 'victim' })
  t.match(
    status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
    { status: 'True' },
  )
})
