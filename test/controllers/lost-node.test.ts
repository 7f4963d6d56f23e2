/** What becomes of pods whose node is lost, tainted or gone; on a clock that is moved by hand. */
import t from 'tap'
import { zoneEvictions } from '../../controllers/node-lifecycle/zones.ts'
import { tooManyTerminated } from '../../controllers/pods/pod-gc.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Event, Lease, Node, Pod, PodDisruptionBudget } from '../../shared/api/types.ts'
import { events, leases, nodes, podDisruptionBudgets, pods } from '../../shared/client/resources.ts'
import { toMicroTime, toTime } from '../../shared/clock/timestamp.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'

const clock = createVirtualClock()
const { client } = await startTestControlPlane(t, { clock })

const namespace = 'default'
const heartbeatMs = 10_000
/** Nodes whose lease is renewed while time passes. */
const alive = new Set<string>()

async function addNode(name: string): Promise<void> {
  await client.create<Node>(nodes, { metadata: { name } })
  const time = toTime(clock.now())
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time }]
  await client.patch(nodes, { name }, { status: { conditions } }, { subresource: 'status' })
  const lease = {
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  }
  await client.create<Lease>(leases, lease)
  alive.add(name)
}
async function pass(seconds: number): Promise<void> {
  for (let leftMs = seconds * 1_000; leftMs > 0; leftMs -= heartbeatMs) {
    for (const name of alive) {
      const renewTime = toMicroTime(clock.now())
      await client.patch(leases, { namespace: 'kube-node-lease', name }, { spec: { renewTime } })
    }
    await clock.advance(Math.min(leftMs, heartbeatMs))
  }
}
async function addPod(name: string, spec: Partial<Pod['spec']> = {}): Promise<void> {
  const containers = [{ name: 'c', image: 'busybox' }]
  await client.create<Pod>(pods, {
    metadata: { namespace, name },
    spec: {
      automountServiceAccountToken: false,
      nodeName: 'n1',
      terminationGracePeriodSeconds: 7,
      containers,
      ...spec,
    },
  })
  const conditions = [{ type: 'Ready', status: 'True' }]
  await client.patch(pods, { namespace, name }, { status: { phase: 'Running', conditions } }, { subresource: 'status' })
}
const podNow = (name: string): Promise<Pod | undefined> =>
  client.get<Pod>(pods, { namespace, name }).catch((error: unknown) => {
    if (!isStatus(error, 'NotFound')) throw error
    return undefined
  })
const taintsOf = async (name: string) =>
  ((await client.get<Node>(nodes, { name })).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort()
const told = async (reason: string) =>
  (await client.list<Event>(events)).items
    .filter((event) => event.reason === reason)
    .map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`)
const noExecute = (tolerationSeconds?: number) => [
  { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds },
]
const taint = (name: string, ...keys: string[]) =>
  client.patch(nodes, { name }, { spec: { taints: keys.map((key) => ({ key, effect: 'NoExecute' })) } })

t.test('a node that falls silent', async (t) => {
  await addNode('n1')
  await addNode('n2')
  await addPod('patient')
  const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' }
  await addPod('hasty', { tolerations: [{ ...unreachable, tolerationSeconds: 30 }] })
  await addPod('loyal', { tolerations: [unreachable] })
  await pass(60)
  t.same(await taintsOf('n1'), [])
  alive.delete('n1')
  await pass(45)
  t.same(await taintsOf('n1'), [], 'not yet')
  await pass(20)
  const node = await client.get<Node>(nodes, { name: 'n1' })
  t.match(
    node.status?.conditions?.find(({ type }) => type === 'Ready'),
    { status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' },
  )
  t.same(await taintsOf('n1'), [
    'node.kubernetes.io/unreachable:NoExecute',
    'node.kubernetes.io/unreachable:NoSchedule',
  ])
  const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }
  t.match((await podNow('patient'))?.status, unready, 'its pods are not ready, and keep their phase')
  t.same((await told('NodeNotReady')).sort(), [
    'hasty: Node is not ready',
    'loyal: Node is not ready',
    'n1: Node n1 status is now: NodeNotReady',
    'patient: Node is not ready',
  ])
  await pass(30)
  const hasty = { reason: 'IntolerableTaint', deletionGracePeriodSeconds: 7 }
  t.match((await podNow('hasty'))?.metadata, hasty, 'deleted after the seconds of its toleration')
  t.equal((await podNow('patient'))?.metadata.deletionTimestamp, undefined, 'it has five minutes')
  await pass(280)
  t.equal((await podNow('patient'))?.metadata.reason, 'IntolerableTaint', 'deleted after five minutes')
  t.equal((await podNow('loyal'))?.metadata.deletionTimestamp, undefined)
  await taint('n1', 'node.kubernetes.io/out-of-service')
  await pass(30)
  t.equal(await podNow('patient'), undefined, 'its node will not come back')
  t.equal(await podNow('loyal'), undefined, 'nor does it tolerate that')
})

t.test('while no node is ready no pods are evicted', async (t) => {
  alive.clear()
  await pass(70)
  t.same(await taintsOf('n2'), ['node.kubernetes.io/unreachable:NoSchedule'])
})

t.test('several nodes fail: one after the other is cleared; none while most of a zone is not ready', async (t) => {
  const nodesOf = (zone: string, ready: boolean[]): Node[] =>
    ready.map((one, index) => ({
      metadata: { name: `${zone}${index}`, labels: { 'topology.kubernetes.io/zone': zone } },
      status: { conditions: [{ type: 'Ready', status: one ? 'True' : 'Unknown' }] },
    }))
  const rates = (...zones: boolean[][]) => {
    const found = zoneEvictions(zones.flatMap((ready, index) => nodesOf(`z${index}`, ready)))
    return [...found.values()].map(({ calledOff, nodesPerSecond }) => (calledOff ? 'called off' : nodesPerSecond))
  }
  t.same(rates([true, false]), [0.1])
  t.same(rates([false, false]), ['called off'])
  t.same(rates([false, false], [true]), [0.1, 0.1], 'another zone is well')
  t.same(rates([true, false, false]), [0.1], 'two are not many')
  t.same(rates([true, true, false, false, false]), [0], 'three of five are')
  t.same(rates([...Array(30).fill(true), ...Array(40).fill(false)]), [0.01])

  for (const name of ['n1', 'n2']) await client.delete(nodes, { name })
  for (const name of ['a', 'b', 'c']) await addNode(name)
  await pass(20)
  for (const name of ['a', 'b']) alive.delete(name)
  const cleared = async () =>
    (await Promise.all(['a', 'b'].map(taintsOf))).filter((taints) => taints.some((one) => one.endsWith('NoExecute')))
      .length
  let first = 0
  for (let seconds = 0; seconds < 70 && first === 0; seconds += 5) {
    await pass(5)
    first = await cleared()
  }
  t.equal(first, 1)
  await pass(15)
  t.equal(await cleared(), 2, 'ten seconds later the other')
  for (const name of ['a', 'b', 'c']) await client.delete(nodes, { name })
})

t.test('a NoExecute taint: at once, in time, or never; and taken back', async (t) => {
  await addNode('n3')
  const onNode = { nodeName: 'n3' }
  await addPod('leaves', onNode)
  await addPod('waits', { ...onNode, tolerations: noExecute(60) })
  await addPod('stays', { ...onNode, tolerations: noExecute() })
  await pass(10)
  await taint('n3', 'k')
  await pass(1)
  t.match(await podNow('leaves'), {
    metadata: { reason: 'IntolerableTaint', deletionGracePeriodSeconds: 7 },
    status: {
      conditions: [
        { type: 'Ready' },
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByTaintManager',
          message: 'Taint manager: deleting due to NoExecute taint',
        },
      ],
    },
  })
  await pass(40)
  await taint('n3')
  await pass(60)
  t.equal((await podNow('waits'))?.metadata.deletionTimestamp, undefined, 'taken back in time')
  t.ok((await told('TaintManagerEviction')).includes(`waits: Cancelling deletion of Pod ${namespace}/waits`))
  await taint('n3', 'k')
  await pass(30)
  await taint('n3', 'k', 'worse')
  await pass(1)
  t.equal((await podNow('waits'))?.metadata.reason, 'IntolerableTaint', 'another taint does not wait for the first')
  t.equal((await podNow('stays'))?.metadata.reason, 'IntolerableTaint')
  t.equal(
    (await told('TaintManagerEviction')).filter(
      (text) => text === `leaves: Marking for deletion Pod ${namespace}/leaves`,
    ).length,
    1,
  )
})

t.test('pods of a node that is gone', async (t) => {
  await addNode('n4')
  await addPod('orphan', { nodeName: 'n4' })
  await client.patch(pods, { namespace, name: 'orphan' }, { metadata: { finalizers: ['example.com/look'] } })
  alive.delete('n4')
  await client.delete(nodes, { name: 'n4' })
  await pass(35)
  t.equal((await podNow('orphan'))?.metadata.deletionTimestamp, undefined, 'it might come back')
  await pass(50)
  t.match(
    await podNow('orphan'),
    {
      metadata: { deletionGracePeriodSeconds: 0 },
      status: {
        phase: 'Failed',
        conditions: [
          { type: 'Ready' },
          { type: 'DisruptionTarget', reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' },
        ],
      },
    },
    'Failed, and deleted',
  )
})

t.test('what happens again is counted', async (t) => {
  const noPods = async () => (await client.list<Event>(events)).items.filter(({ reason }) => reason === 'NoPods')
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'nobody' } } }
  await client.create<PodDisruptionBudget>(podDisruptionBudgets, { metadata: { namespace, name: 'empty' }, spec })
  await pass(1)
  const [first] = await noPods()
  t.match(first, { type: 'Normal', message: 'No matching pods found', source: { component: 'controllermanager' } })
  await client.patch(podDisruptionBudgets, { namespace, name: 'empty' }, { spec: { minAvailable: 2 } })
  await pass(1)
  const again = await noPods()
  t.equal(again.length, 1)
  t.ok((again[0]?.count ?? 0) > (first?.count ?? 0))
  await client.delete(events, { namespace, name: first?.metadata.name ?? '' })
  await client.patch(podDisruptionBudgets, { namespace, name: 'empty' }, { spec: { minAvailable: 3 } })
  await pass(1)
  t.ok(((await noPods())[0]?.count ?? 0) > (again[0]?.count ?? 0), 'also of one that has expired')
})

t.test('of too many pods that are over, evicted ones go first, then the oldest', async (t) => {
  const podOf = (name: string, minute: number, status: Pod['status']): Pod => ({
    metadata: { name, creationTimestamp: `2026-01-01T00:0${minute}:00Z` },
    spec: { containers: [] },
    status,
  })
  const all = [
    podOf('young', 3, { phase: 'Succeeded' }),
    podOf('running', 0, { phase: 'Running' }),
    podOf('old', 1, { phase: 'Failed' }),
    podOf('evicted', 4, { phase: 'Failed', reason: 'Evicted' }),
  ]
  const names = (max: number) => tooManyTerminated(all, max).map(({ metadata }) => metadata.name)
  t.same(names(3), [])
  t.same(names(2), ['evicted'])
  t.same(names(0), ['evicted', 'old', 'young'])
})
