import t from 'tap'
import { decide } from '../../controllers/scheduler/decide.ts'
import { NodeInfo, type PresentNode, podInfo } from '../../controllers/scheduler/node-info.ts'
import { enoughOf, NodeSearch } from '../../controllers/scheduler/node-search.ts'
import type { Rejection } from '../../controllers/scheduler/rejection.ts'
import { SchedulingQueue } from '../../controllers/scheduler/scheduling-queue.ts'
import { podRequests } from '../../shared/api/quantities/amounts.ts'
import type { Container, Node, Pod, PodSpec } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { decisionContext } from '../harness/scheduling.ts'
import { until } from '../harness/until.ts'

type Changes = {
  name?: string
  labels?: Record<string, string>
  spec?: Node['spec']
  ready?: string
  allocatable?: Record<string, string>
}

function node({ name = 'n1', labels, spec, ready = 'True', allocatable }: Changes = {}): PresentNode {
  const info = new NodeInfo()
  info.setNode({
    metadata: { name, labels },
    spec,
    status: {
      allocatable: { cpu: '2', memory: '4Gi', pods: '110', ...allocatable },
      conditions: ready ? [{ type: 'Ready', status: ready }] : [],
    },
  })
  return info as PresentNode
}

let uids = 0
const pod = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: `uid-${++uids}`, generation: 1 },
  spec: { containers: [{ name: 'c' }], ...spec },
})
const container = (requests: Record<string, string>, more: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests },
  ...more,
})
const choose = (p: Pod, ...nodes: PresentNode[]) => decide(podInfo(p), nodes, decisionContext())
const because = (reasons: string, preemption: string, total = 1) => ({
  message: `0/${total} nodes are available: ${reasons}. no new claims to deallocate, preemption: 0/${total} nodes are available: ${preemption}.`,
  nominated: '',
})
const HOPELESS = '1 Preemption is not helpful for scheduling'
const NO_VICTIMS = '1 No preemption victims found for incoming pod'

t.test('each filter lets pass what it should, and says in upstream words why not', async (t) => {
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }]
  const affinity = (matchExpressions: object[], matchFields?: object[]) =>
    ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions, matchFields }] },
      },
    }) as PodSpec['affinity']
  const unschedulable = '1 node(s) were unschedulable'
  const tainted = '1 node(s) had untolerated taint(s)'
  const elsewhere = "1 node(s) didn't match Pod's node affinity/selector"
  const cases: [string, Partial<PodSpec>, Changes, { reasons: string; preemption?: string } | 'fits'][] = [
    ['nothing asked', {}, {}, 'fits'],
    ['cordoned', {}, { spec: { unschedulable: true } }, { reasons: unschedulable }],
    ['cordoned, tolerated', { tolerations: [{ operator: 'Exists' }] }, { spec: { unschedulable: true } }, 'fits'],
    ['tainted', {}, { spec: { taints } }, { reasons: tainted }],
    [
      'tainted, another value tolerated',
      { tolerations: [{ key: 'k', value: 'w' }] },
      { spec: { taints } },
      { reasons: tainted },
    ],
    [
      'tainted, tolerated',
      { tolerations: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] },
      { spec: { taints } },
      'fits',
    ],
    ['taint that only prefers', {}, { spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } }, 'fits'],
    ['not ready', {}, { ready: 'False' }, { reasons: tainted }],
    ['silent', {}, { ready: 'Unknown' }, { reasons: tainted }],
    [
      'not ready, tolerated',
      { tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }] },
      { ready: 'False' },
      'fits',
    ],
    ['selector', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'hdd' } }, { reasons: elsewhere }],
    ['selector matches', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'ssd' } }, 'fits'],
    [
      'affinity In',
      { affinity: affinity([{ key: 'a', operator: 'In', values: ['x', 'y'] }]) },
      { labels: { a: 'y' } },
      'fits',
    ],
    [
      'affinity NotIn',
      { affinity: affinity([{ key: 'a', operator: 'NotIn', values: ['y'] }]) },
      { labels: { a: 'y' } },
      { reasons: elsewhere },
    ],
    [
      'affinity Gt',
      { affinity: affinity([{ key: 'a', operator: 'Gt', values: ['5'] }]) },
      { labels: { a: '6' } },
      'fits',
    ],
    [
      'affinity Lt',
      { affinity: affinity([{ key: 'a', operator: 'Lt', values: ['5'] }]) },
      { labels: { a: 'six' } },
      { reasons: elsewhere },
    ],
    [
      'affinity by name',
      { affinity: affinity([], [{ key: 'metadata.name', operator: 'In', values: ['n1'] }]) },
      {},
      'fits',
    ],
    ['empty term', { affinity: affinity([]) }, {}, { reasons: elsewhere }],
    ['too much cpu for any node', { containers: [container({ cpu: '3' })] }, {}, { reasons: '1 Insufficient cpu' }],
    ['all of it', { containers: [container({ cpu: '2', memory: '4Gi' })] }, {}, 'fits'],
    [
      'two things missing',
      { containers: [container({ cpu: '3', memory: '5Gi' })] },
      {},
      { reasons: '1 Insufficient cpu, 1 Insufficient memory' },
    ],
    [
      'a resource nobody has',
      { containers: [container({ 'example.com/gpu': '1' })] },
      {},
      { reasons: '1 Insufficient example.com/gpu' },
    ],
    ['full', {}, { allocatable: { pods: '0' } }, { reasons: '1 Too many pods', preemption: NO_VICTIMS }],
  ]
  for (const [name, spec, changes, expected] of cases) {
    const wanted = expected === 'fits' ? { nodeName: 'n1' } : because(expected.reasons, expected.preemption ?? HOPELESS)
    t.same(choose(pod(spec), node(changes)), wanted, name)
  }
})

t.test('what is on a node counts', async (t) => {
  const busy = node()
  busy.addPod(
    podInfo(
      pod({
        containers: [
          container({ cpu: '1500m' }, { ports: [{ containerPort: 80, hostPort: 80, hostIP: '127.0.0.1' }] }),
        ],
      }),
    ),
  )
  const small = pod({ containers: [container({ cpu: '500m' })] })
  const large = pod({ containers: [container({ cpu: '501m' })] })
  t.same(choose(small, busy), { nodeName: 'n1' })
  t.same(choose(large, busy), because('1 Insufficient cpu', NO_VICTIMS))
  t.same(choose({ ...large, spec: { ...large.spec, preemptionPolicy: 'Never' } }, busy), {
    message:
      '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.',
  })
  const port = (hostPort: number, hostIP?: string, protocol?: string) =>
    pod({ containers: [container({}, { ports: [{ containerPort: 80, hostPort, hostIP, protocol }] })] })
  const taken = because("1 node(s) didn't have free ports for the requested pod ports", NO_VICTIMS)
  t.same(choose(port(80), busy), taken)
  t.same(choose(port(80, '127.0.0.2'), busy), { nodeName: 'n1' })
  t.same(choose(port(80, '127.0.0.1', 'UDP'), busy), { nodeName: 'n1' })
  const [uid = ''] = busy.pods.keys()
  t.ok(busy.removePod(uid))
  t.same(choose(large, busy), { nodeName: 'n1' })
  t.same(busy.requested.get('cpu'), 0)
})

t.test('several nodes: reasons are counted, the emptier one is taken, preferences weigh more', async (t) => {
  const cordoned = () => node({ spec: { unschedulable: true } })
  const full = node({ name: 'n2', allocatable: { pods: '0' } })
  t.same(
    choose(pod(), cordoned(), full, cordoned()),
    because(
      '1 Too many pods, 2 node(s) were unschedulable',
      `${NO_VICTIMS}, 2 Preemption is not helpful for scheduling`,
      3,
    ),
  )
  t.same(choose(pod()), { message: 'no nodes available to schedule pods', nominated: '' })
  const [a, b] = [node({ name: 'a' }), node({ name: 'b', labels: { zone: 'z' } })]
  a.addPod(podInfo(pod()))
  t.same(choose(pod(), a, b), { nodeName: 'b' })
  b.addPod(podInfo(pod({ containers: [container({ cpu: '1' })] })))
  t.same(choose(pod(), a, b), { nodeName: 'a' })
  const preferring = pod({
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: 'zone', operator: 'Exists' }] } },
        ],
      },
    },
  })
  t.same(choose(preferring, a, b), { nodeName: 'b' })
  b.node!.spec = { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] }
  t.same(choose(preferring, a, b), { nodeName: 'a' })
})

t.test('a pod asks for its containers, or its greediest initialisation, and its overhead', async (t) => {
  const asked = (spec: Partial<PodSpec>) => Object.fromEntries(podRequests(pod(spec)))
  const containers = [container({ cpu: '100m' }), container({ cpu: '200m', memory: '1Ki' })]
  t.same(asked({ containers }), { cpu: 300, memory: 1_024_000 })
  t.same(asked({ containers, initContainers: [container({ cpu: '1' }), container({ cpu: '50m' })] }), {
    cpu: 1000,
    memory: 1_024_000,
  })
  const sidecar = container({ cpu: '10m' }, { restartPolicy: 'Always' })
  t.same(asked({ containers, initContainers: [sidecar, container({ cpu: '1' })] }), { cpu: 1010, memory: 1_024_000 })
  t.same(asked({ containers, initContainers: [container({ cpu: '305m' }), sidecar] }), { cpu: 310, memory: 1_024_000 })
  t.same(asked({ containers, overhead: { cpu: '1m' } }), { cpu: 301, memory: 1_024_000 })
})

t.test('the queue: priority, then arrival; a pod that failed waits for a change', async (t) => {
  const queue = new SchedulingQueue()
  const [first, second, urgent] = [pod(), pod(), pod({ priority: 10 })]
  t.same(
    [first, second, urgent].map((p) => queue.put(p)),
    [true, true, true],
  )
  const takes = [queue.take(), queue.take(), queue.take()]
  t.same(
    takes.map((taken) => taken?.pod),
    [urgent, first, second],
  )
  t.equal(queue.take(), undefined, 'what is being tried is not given out twice')
  t.equal(queue.wake(), 0, 'nor woken')
  t.ok(takes[0]?.park('no'), 'but the change was after its decision: it is tried again')
  const again = queue.take()
  t.equal(again?.lastVerdict, 'no')
  t.equal(again?.park('no'), false)
  t.equal(queue.take(), undefined)
  t.equal(queue.wake(), 1)
  queue.remove(urgent.metadata.uid ?? '')
  t.equal(queue.take(), undefined)

  const retried = pod()
  queue.put(retried)
  queue.take()?.park('no')
  t.equal(queue.put({ ...retried, status: {} }), false, 'a new status is no reason to try again')
  t.equal(queue.put({ ...retried, metadata: { ...retried.metadata, generation: 2 } }), true, 'a new spec is')
  t.equal(queue.take()?.pod.metadata.generation, 2)
})

t.test('what a pod gives back is given to those that wait', async (t) => {
  const { client } = await startTestControlPlane(t, { scheduler: true })
  const namespace = 'default'
  const { node: object } = node({ name: 'small', allocatable: { cpu: '1' } })
  await client.create<Node>(nodes, { metadata: object!.metadata })
  await client.patch(nodes, { name: 'small' }, { status: object!.status }, { subresource: 'status' })
  const create = (name: string, cpu: string) =>
    client.create<Pod>(pods, {
      metadata: { namespace, name },
      spec: { containers: [container({ cpu }, { image: 'busybox' })], automountServiceAccountToken: false },
    })
  const isPlaced = (name: string) =>
    until(async () => (await client.get<Pod>(pods, { namespace, name })).spec.nodeName, { what: `a node for ${name}` })
  await create('large', '800m')
  await isPlaced('large')
  const running = { containerStatuses: [{ name: 'c', image: 'busybox', imageID: '', ready: true, restartCount: 0 }] }
  await client.patch(pods, { namespace, name: 'large' }, { status: running }, { subresource: 'status' })
  await create('waiting', '500m')
  await until(
    async () => {
      const { status } = await client.get<Pod>(pods, { namespace, name: 'waiting' })
      return status?.conditions?.some(({ message }) => message?.includes('Insufficient cpu'))
    },
    { what: 'to be told that there is no room' },
  )
  const smaller = { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '300m' } } }] } }
  await client.patch(pods, { namespace, name: 'large' }, smaller, { type: 'strategic', subresource: 'resize' })
  t.equal(await isPlaced('waiting'), 'small')
})

t.test('of many nodes enough are looked at, each in its turn', async (t) => {
  const upstream = { 10: 10, 99: 99, 100: 100, 240: 117, 1000: 420, 4000: 720, 6000: 300, 15000: 750 }
  for (const [nodes, enough] of Object.entries(upstream)) t.equal(enoughOf(Number(nodes)), enough, `${nodes} nodes`)

  const search = new NodeSearch()
  const nodes = Array.from({ length: 250 }, (_, i) => node({ name: `n${i}` }))
  const names = (found: PresentNode[]) => found.map(({ node }) => node.metadata.name)
  const full: Rejection = { reasons: ['full'], resolvable: true }
  const first = search.find(nodes, () => undefined)
  t.same(names(first.fitting), names(nodes.slice(0, 120)))
  t.equal(first.rejected.size, 0)
  const second = search.find(nodes, ({ node }) => (node.metadata.name === 'n120' ? full : undefined))
  t.same(names(second.fitting), names(nodes.slice(121, 241)), 'it goes on where the first one ended')
  t.same(names([...second.rejected.keys()]), ['n120'])
  const last = search.find(nodes, ({ node }) => (node.metadata.name === 'n3' ? undefined : full))
  t.same(names(last.fitting), ['n3'], 'a node that is alone in fitting is found, wherever it is')
  t.equal(last.rejected.size, 249)
})

t.test('taints: what keeps pods away is there as soon as the node is not Ready', async (t) => {
  const taintsOf = (ready: string) => node({ ready, spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] } }).taints
  t.same(
    taintsOf('True').map(({ key }) => key),
    ['own'],
  )
  t.same(
    taintsOf('False').map(({ key }) => key),
    ['own', 'node.kubernetes.io/not-ready'],
  )
  t.same(
    taintsOf('Unknown').map(({ key }) => key),
    ['own', 'node.kubernetes.io/unreachable'],
  )
})
