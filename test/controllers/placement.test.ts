/** Pod affinity and topology spread: the nodes that a real kube-scheduler chose, and its words where it chose none. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Informers } from '../../controllers/informers/informers.ts'
import { ClusterView } from '../../controllers/scheduler/cluster-view.ts'
import { decide } from '../../controllers/scheduler/decide.ts'
import { DefaultSelectors } from '../../controllers/scheduler/default-selector.ts'
import { type PresentNode, podInfo } from '../../controllers/scheduler/node-info.ts'
import type { LabelSelector } from '../../shared/api/selectors/label-selector.ts'
import type { Node, ObjectMeta, Pod, PodSpec } from '../../shared/api/types.ts'
import type { Resource } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import {
  type PlacementOutcome,
  type PlacementSituation,
  placementSituation,
  TEAMS,
} from '../harness/placement-situations.ts'
import { decisionContext } from '../harness/scheduling.ts'
import { type SpreadSituation, spreadSituation } from '../harness/spread-situations.ts'
import { until } from '../harness/until.ts'

const allocatable = { cpu: '1000', memory: '1000Gi', pods: '110' }

function onNodes({ nodes: wanted, pods: running }: Omit<PlacementSituation, 'incoming'>): PresentNode[] {
  const view = new ClusterView()
  const ready = { allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
  for (const { metadata, spec, status = ready } of wanted as Node[]) view.setNode({ metadata, spec, status })
  for (const pod of running) view.place(withUid(pod), pod.spec.nodeName!)
  return [...view.nodes()]
}
const withUid = (pod: Pod): Pod => ({ ...pod, metadata: { uid: pod.metadata.name, ...pod.metadata } })

/** Returns all nodes that may be chosen, as chance decides among equals; or the refusal. */
function outcomesOf(
  situation: PlacementSituation,
  selectors?: Pick<DefaultSelectors, 'of'>,
): { nodes: string[] } | { message: string } {
  const on = onNodes(situation)
  const chosen = new Set<string>()
  for (let at = 0; at < on.length; at++) {
    const decision = decide(
      podInfo(withUid(situation.incoming)),
      on,
      decisionContext({
        random: () => at / on.length,
        namespaceLabels: (name = '') => TEAMS[name],
        ...(selectors && { defaultSelector: (pod) => selectors.of(pod) }),
      }),
    )
    if ('message' in decision) return { message: decision.message }
    chosen.add(decision.nodeName)
  }
  return { nodes: [...chosen].sort() }
}

/** Holds our decisions against recorded ones. Returns how many had one node to choose. */
function compare(t: Test, file: string, oursOf: (seed: number) => ReturnType<typeof outcomesOf>): void {
  const path = join(import.meta.dirname, '../golden/scheduler', file)
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as (PlacementOutcome & { seed: number })[]
  t.ok(recorded.length >= 100, 'there are recordings')
  let decided = 0
  for (const { seed, ...outcome } of recorded) {
    const ours = oursOf(seed)
    if ('message' in outcome) t.same(ours, outcome, `situation ${seed}`)
    else if ('nodes' in ours) {
      t.ok(ours.nodes.includes(outcome.node), `situation ${seed}: ${ours.nodes} include ${outcome.node}`)
      if (ours.nodes.length === 1) decided += 1
    } else t.same(ours, outcome, `situation ${seed}`)
  }
  t.ok(decided > recorded.length / 4, `scores decide ${decided} alone`)
}

t.test('the places of pods in generated situations are those of a real kube-scheduler', async (t) => {
  compare(t, 'placement.json', (seed) => outcomesOf(placementSituation(seed)))
})

t.test('so are those of pods of services and workloads, on nodes with images', async (t) => {
  compare(t, 'spread.json', (seed) => {
    const situation = spreadSituation(seed)
    return outcomesOf(situation, new DefaultSelectors(informersOf(situation)))
  })
})

/** Informers of the objects that the default constraints look at. */
function informersOf(situation: SpreadSituation): Pick<Informers, 'whole'> {
  return {
    whole<T extends { metadata: ObjectMeta }>({ plural }: Resource) {
      const all = situation[plural as 'services'] as unknown as T[]
      return {
        get: ({ namespace, name }) =>
          all.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
        byIndex: (_index, namespace) => all.filter(({ metadata }) => metadata.namespace === namespace),
      } as Informer<T>
    },
  }
}

const anti = (app: string, topologyKey = 'kubernetes.io/hostname'): PodSpec['affinity'] => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
  },
})
const near = (app: string): PodSpec['affinity'] => ({
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: { matchLabels: { app } } }],
  },
})
const sketch = (name: string, app: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name, namespace: 'default', uid: name, labels: { app } },
  spec: { containers: [{ name: 'c', image: 'busybox' }], automountServiceAccountToken: false, ...spec },
})
const nodeOf = (name: string): Pick<Node, 'metadata'> => ({
  metadata: { name, labels: { 'kubernetes.io/hostname': name, zone: `z-${name}` } },
})

t.test('pods of a workload are spread by default, and an image draws them', async (t) => {
  const zone = (name: string, zone: string, images?: [string, number][]): Node => ({
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone } },
    status: {
      allocatable,
      conditions: [{ type: 'Ready', status: 'True' }],
      ...(images && { images: images.map(([image, sizeBytes]) => ({ names: [image], sizeBytes })) }),
    },
  })
  const on = (name: string, app: string, nodeName: string) => sketch(name, app, { nodeName })
  const choose = (nodes: Node[], pods: Pod[], selected?: string) => {
    const selector: LabelSelector = selected ? [{ key: 'app', operator: 'in', values: [selected] }] : []
    return outcomesOf({ nodes, pods, incoming: sketch('new', 'web') }, { of: () => selector })
  }
  const three = [zone('n0', 'a'), zone('n1', 'a'), zone('n2', 'b')]
  const running = [on('p0', 'web', 'n0'), on('p1', 'db', 'n1'), on('p2', 'db', 'n2')]
  t.same(choose(three, running), { nodes: ['n0', 'n1', 'n2'] }, 'a pod of no workload')
  t.same(choose(three, running, 'web'), { nodes: ['n2'] }, 'another zone')
  t.same(choose(three, running, 'none'), { nodes: ['n0', 'n1', 'n2'] })
  const GiB = 2 ** 30
  const large: [string, number][] = [['busybox:latest', 2 * GiB]]
  t.same(choose([zone('n0', 'a'), zone('n1', 'a', large), zone('n2', 'a')], []), { nodes: ['n1'] })
  t.same(choose([zone('n0', 'a'), zone('n1', 'a', [['busybox:latest', 20e6]])], []), { nodes: ['n0', 'n1'] }, 'small')
  t.same(choose([zone('n0', 'a'), zone('n1', 'a', [['other:latest', GiB]])], []), { nodes: ['n0', 'n1'] }, 'another')
})

t.test('a less important pod that a rule is about makes room', async (t) => {
  const on = (...running: Pod[]) => onNodes({ nodes: [nodeOf('n0')], pods: running })
  const placed = (name: string, app: string, spec: Partial<PodSpec>) => sketch(name, app, { nodeName: 'n0', ...spec })
  const victimsOf = (incoming: Pod, ...running: Pod[]) => {
    const decision = decide(podInfo(incoming), on(...running), decisionContext())
    return 'preemption' in decision ? decision.preemption?.victims.map(({ pod }) => pod.metadata.name) : decision
  }
  const important = { priority: 10 }
  t.same(
    victimsOf(
      sketch('new', 'web', { ...important, affinity: anti('web') }),
      placed('a', 'web', {}),
      placed('b', 'db', {}),
    ),
    ['a'],
    'its own',
  )
  t.same(
    victimsOf(sketch('new', 'web', important), placed('a', 'db', { affinity: anti('web') }), placed('b', 'db', {})),
    ['a'],
    'the rule of the other',
  )
  const spread = {
    topologyKey: 'kubernetes.io/hostname',
    maxSkew: 1,
    whenUnsatisfiable: 'DoNotSchedule',
    minDomains: 2,
  }
  const topologySpreadConstraints = [{ ...spread, labelSelector: { matchLabels: { app: 'web' } } }]
  t.same(
    victimsOf(
      sketch('new', 'web', { ...important, topologySpreadConstraints }),
      placed('a', 'web', {}),
      placed('b', 'db', {}),
    ),
    ['a'],
    'spread',
  )
  const helpless = decide(
    podInfo(sketch('new', 'web', { ...important, affinity: near('db') })),
    on(),
    decisionContext(),
  )
  t.match(helpless, {
    message:
      "0/1 nodes are available: 1 node(s) didn't match pod affinity rules. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  })
})

t.test('a pod that waits for others runs when they come, change or go', async (t) => {
  const { client } = await startTestControlPlane(t, { scheduler: true })
  const namespace = 'default'
  for (const { metadata } of [nodeOf('n0'), nodeOf('n1')]) {
    await client.create<Node>(nodes, { metadata })
    const status = { allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
    await client.patch(nodes, { name: metadata.name! }, { status }, { subresource: 'status' })
  }
  const create = (name: string, app: string, spec: Partial<PodSpec> = {}) => {
    const { uid: _, ...metadata } = sketch(name, app).metadata
    return client.create<Pod>(pods, { metadata, spec: sketch(name, app, spec).spec })
  }
  const get = (name: string) => client.get<Pod>(pods, { namespace, name })
  const isPlaced = (name: string) => until(async () => (await get(name)).spec.nodeName, { what: `a node for ${name}` })
  const isTold = (name: string, words: string) =>
    until(async () => (await get(name)).status?.conditions?.some(({ message }) => message?.includes(words)), {
      what: `${words} of ${name}`,
    })
  await create('follower', 'web', { affinity: near('db') })
  await isTold('follower', "2 node(s) didn't match pod affinity rules")
  await create('leader', 'db')
  t.equal(await isPlaced('follower'), await isPlaced('leader'), 'together')

  await Promise.all(['one', 'two', 'three'].map((name) => create(name, 'alone', { affinity: anti('alone') })))
  const names = ['one', 'two', 'three']
  const without = await until(
    async () => {
      const all = await Promise.all(names.map(get))
      const waiting = all.filter(({ spec }) => !spec.nodeName)
      return waiting.length === 1 && waiting[0]?.status?.conditions ? waiting[0] : undefined
    },
    { what: 'two that run alone' },
  )
  const late = without.metadata.name!
  await isTold(late, "2 node(s) didn't match pod anti-affinity rules")
  const [first = '', second = ''] = names.filter((name) => name !== late)
  t.not((await get(first)).spec.nodeName, (await get(second)).spec.nodeName, 'apart')
  await client.patch(pods, { namespace, name: first }, { metadata: { labels: { app: 'other' } } }, { type: 'merge' })
  // The pod with other labels still refuses what its own rule selects.
  await isTold(late, "1 node(s) didn't satisfy existing pods anti-affinity rules")
  await client.delete(pods, { namespace, name: first }, { gracePeriodSeconds: 0 })
  t.equal(await isPlaced(late), (await isPlaced(second)) === 'n0' ? 'n1' : 'n0')

  await create('spread', 'alone', {
    topologySpreadConstraints: [
      {
        topologyKey: 'zone',
        maxSkew: 1,
        minDomains: 3,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'alone' } },
      },
    ],
  })
  await isTold('spread', "2 node(s) didn't match pod topology spread constraints")
})
