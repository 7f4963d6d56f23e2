/** Every way in which a pod can end leaves a record that names its cause: also without a container, without a node, and without a kubelet. */
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Node, Pod, PodSpec } from '../../shared/api/types.ts'
import { nodes, pods, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { followPod, podOf, politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const { client } = await startTestCluster(t)
const namespace = 'default'
const admin = 'kubernetes-admin'
t.jobs = 4

const polite = ['sh', '-c', politeScript]
async function start(name: string, spec: Partial<PodSpec>, command = polite) {
  const pod = podOf({ name, command, spec: { tolerations: [{ operator: 'Exists' }], ...spec } })
  await client.create<Pod>(pods, pod, { namespace })
  return followPod(client, { namespace, name })
}
const recordOf = (podName: string): Promise<Termination> =>
  until(
    async () =>
      (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${podName}` })).items[0],
    { what: `the record of ${podName}` },
  )
const waiting = ({ status }: Pod): string | undefined => status?.containerStatuses?.[0]?.state?.waiting?.reason

/** A pod, what is waited for before it is deleted, and what its record says. */
const deletions: [name: string, Partial<PodSpec>, until: (pod: Pod) => boolean, expected: Partial<Termination>][] = [
  [
    'no-image',
    { containers: [{ name: 'main', image: 'nosuch.example.com/none:1', imagePullPolicy: 'Never' }] },
    (pod) => waiting(pod) === 'ErrImageNeverPull',
    { nodeName: 'node-1', verdictType: 'NotStarted', verdict: 'no container had started', phase: 'Failed' },
  ],
  [
    'no-node',
    { nodeSelector: { no: 'such' } },
    ({ status }) => Boolean(status?.conditions?.some(({ reason }) => reason === 'Unschedulable')),
    { nodeName: undefined, verdictType: 'NotStarted', phase: 'Pending' },
  ],
]
for (const [name, spec, condition, expected] of deletions) {
  t.test(`a pod that is deleted before a container started: ${name}`, async (t) => {
    const pod = await start(name, spec)
    await pod.until(condition, 'to wait')
    await client.delete(pods, { namespace, name }, { reason: 'Update' })
    await pod.untilDeleted()
    const record = await recordOf(name)
    t.match(record, { ...expected, reason: 'Update', cause: 'PodDeleted' })
    t.match(record.requests, [{ user: admin, reason: 'Update' }])
    t.equal(record.containers, undefined)
  })
}

t.test('a pod that is deleted while its container waits for the next start', async (t) => {
  const pod = await start('loops', {}, ['false'])
  const hasEndedTwice = ({ status }: Pod): boolean => {
    const { restartCount = 0, state } = status?.containerStatuses?.[0] ?? {}
    return restartCount === 1 && state?.terminated !== undefined
  }
  await pod.until(hasEndedTwice, 'to wait ten seconds for its next start')
  await client.delete(pods, { namespace, name: 'loops' }, { reason: 'Decommissioned' })
  await pod.untilDeleted()
  t.match(await recordOf('loops'), { cause: 'PodDeleted', reason: 'Decommissioned', verdictType: 'NotRunning' })
})

t.test('a pod that its node does not take', async (t) => {
  const pod = await start('rejected', { nodeName: 'node-1', nodeSelector: { no: 'such' } })
  await pod.until(({ status }) => status?.phase === 'Failed', 'to be rejected')
  const record = await recordOf('rejected')
  t.match(record, { cause: 'Rejected', verdictType: 'NotStarted', phase: 'Failed', message: /^Pod was rejected: / })
})

t.test('the probe of a lone container that is not restarted', async (t) => {
  const probe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
  const container = { name: 'main', image: 'busybox:1.37', command: polite }
  for (const [name, field] of [
    ['dead', 'livenessProbe'],
    ['slow', 'startupProbe'],
  ] as const) {
    const pod = await start(name, {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 7,
      containers: [{ ...container, [field]: { ...probe, terminationGracePeriodSeconds: 3 } }],
    })
    await pod.until(({ status }) => status?.phase === 'Failed' || status?.phase === 'Succeeded', 'to end')
    const cause = field === 'livenessProbe' ? 'LivenessProbe' : 'StartupProbe'
    t.match(await recordOf(name), { cause, gracePeriodSeconds: 7, phase: String }, `${field}: with the pod’s grace`)
  }
})

t.test('a pod whose node is gone, removed by force', async (t) => {
  const node: Node = { metadata: { name: 'ghost' } }
  await client.create(nodes, node)
  await start('haunted', { nodeName: 'ghost' })
  await client.delete(pods, { namespace, name: 'haunted' }, { gracePeriodSeconds: 0, reason: 'gone for good' })
  const record = await recordOf('haunted')
  t.match(record, { cause: 'NodeLost', nodeName: 'ghost', reason: 'gone for good', verdictType: 'NotSeen' })
  await client.delete(nodes, { name: 'ghost' })
})
