import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Budgets } from '../../controllers/scheduler/budgets.ts'
import { type Decision, decide } from '../../controllers/scheduler/decide.ts'
import { NodeInfo, type PresentNode, podInfo } from '../../controllers/scheduler/node-info.ts'
import { Nominations } from '../../controllers/scheduler/nominations.ts'
import type { Event, Node, Pod, PodDisruptionBudget } from '../../shared/api/types.ts'
import { events, nodes, pods } from '../../shared/client/resources.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import {
  type PodOnNode,
  type PreemptionOutcome,
  type PreemptionSituation,
  preemptionSituation,
  UNIT,
} from '../harness/preemption-situations.ts'
import { decisionContext } from '../harness/scheduling.ts'
import { until } from '../harness/until.ts'

const priorityClasses = { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' }
const NOW = Date.parse('2026-01-01T00:00:00Z')

interface PodSketch extends Partial<PodOnNode> {
  spec?: object
  status?: object
  nominated?: string
}
const podOf = ({ name = 'p', priority = 0, units = 1, seconds, app, spec, status, nominated }: PodSketch): Pod => ({
  metadata: { namespace: 'ns', name, uid: name, ...(app && { labels: { app } }) },
  spec: {
    priority,
    containers: [{ name: 'c', resources: { requests: { [UNIT]: `${units}` } } }],
    ...spec,
  },
  status: {
    ...(seconds !== undefined && { startTime: toTime(NOW - seconds * 1000) as never }),
    ...(nominated && { nominatedNodeName: nominated }),
    ...status,
  },
})

function nodeOf(name: string, units: number, running: readonly PodSketch[]): PresentNode {
  const info = new NodeInfo()
  info.setNode({ metadata: { name }, status: { allocatable: { pods: '110', [UNIT]: `${units}` } } })
  for (const pod of running) info.addPod(podInfo(podOf(pod)))
  return info as PresentNode
}

const budgetOf = (app: string, disruptionsAllowed: number, more: object = {}): PodDisruptionBudget => ({
  metadata: { namespace: 'ns', name: app },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  ...more,
})

interface Scene {
  preemptor: PodSketch
  on: PresentNode[]
  budgets?: PodDisruptionBudget[]
  nominated?: PodSketch[]
  random?: () => number
}
function choose({ preemptor, on, budgets = [], nominated = [], random = () => 0 }: Scene): Decision {
  const nominations = new Nominations()
  for (const pod of [preemptor, ...nominated]) nominations.observe(podOf(pod), undefined)
  const context = decisionContext({ random, nowMs: NOW, nominations, budgets: () => new Budgets(budgets) })
  return decide(podInfo(podOf(preemptor)), on, context)
}

/** `n2: a b` when these go there; else the words why nothing does. */
function inWords(decision: Decision): string {
  if ('nodeName' in decision) return `fits ${decision.nodeName}`
  const { preemption, message, nominated } = decision
  if (!preemption) return message.replace(/^.*preemption: /, '')
  return `${nominated}: ${preemption.victims.map(({ pod }) => pod.metadata.name).join(' ')}`
}

t.test('the victims of generated situations are those of a real kube-scheduler', async (t) => {
  const file = join(import.meta.dirname, '../golden/scheduler/preemption.json')
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as (PreemptionOutcome & { seed: number })[]
  t.ok(recorded.length >= 100, 'there are recordings')
  for (const { seed, node, victims } of recorded) {
    const { preemptor, nodes: wanted, budgets }: PreemptionSituation = preemptionSituation(seed)
    const on = wanted.map(({ units, pods: running }, n) => nodeOf(`${n}`, units, running))
    const spec = { preemptionPolicy: preemptor.policy }
    const decision = choose({
      preemptor: { ...preemptor, name: 'preemptor', spec },
      on,
      budgets: budgets.map(({ app, allowed, disrupted = [] }) => {
        const disruptedPods = Object.fromEntries(disrupted.map((name) => [name, toTime(NOW)])) as never
        const status = {
          disruptionsAllowed: allowed,
          currentHealthy: 0,
          desiredHealthy: 0,
          expectedPods: 0,
          disruptedPods,
        }
        return budgetOf(app, allowed, { status })
      }),
      random: () => (seed % 7) / 7,
    })
    const preemption = 'nodeName' in decision ? undefined : decision.preemption
    const chosen = preemption && {
      node: Number(preemption.nodeName),
      victims: preemption.victims.map(({ pod }) => pod.metadata.name).sort(),
    }
    t.same(chosen, node === undefined ? undefined : { node, victims }, `situation ${seed}`)
  }
})

t.test('which node, and which of its pods: one rule after the other', async (t) => {
  const one = (name: string, more: PodSketch = {}): PodSketch => ({ name, seconds: 10, ...more })
  const two = (a: PodSketch[], b: PodSketch[], units = 2) => [nodeOf('n1', units, a), nodeOf('n2', units, b)]
  const preemptor: PodSketch = { name: 'high', priority: 100, units: 2 }
  const cases: [rule: string, scene: Partial<Scene>, expected: string][] = [
    [
      'fewest budgets violated, whatever the priorities',
      {
        on: two([one('a', { units: 2, app: 'kept' })], [one('b', { units: 2, priority: 50 })]),
        budgets: [budgetOf('kept', 0)],
      },
      'n2: b',
    ],
    [
      'a protected pod goes when no other does',
      { on: [nodeOf('n1', 2, [one('a', { units: 2, app: 'kept' })])], budgets: [budgetOf('kept', 0)] },
      'n1: a',
    ],
    [
      'on one node: a protected pod stays, although a more important one goes',
      {
        on: [nodeOf('n1', 4, [one('a', { units: 2, app: 'kept' }), one('b', { units: 2, priority: 50 })])],
        budgets: [budgetOf('kept', 0)],
      },
      'n1: b',
    ],
    [
      'a budget that allows one end is violated by the second',
      {
        on: two([one('a', { app: 'kept' }), one('b', { app: 'kept' })], [one('c', { priority: 50, units: 2 })]),
        budgets: [budgetOf('kept', 1)],
      },
      'n2: c',
    ],
    [
      'an eviction that is counted already violates nothing',
      {
        on: two([one('a', { app: 'kept', units: 2 })], [one('c', { priority: 50, units: 2 })]),
        budgets: [budgetOf('kept', 0, { status: { disruptionsAllowed: 0, disruptedPods: { a: toTime(NOW) } } })],
      },
      'n1: a',
    ],
    [
      'a budget of another namespace, or with an empty selector, protects nothing',
      {
        on: two([one('a', { app: 'kept', units: 2 })], [one('c', { priority: 50, units: 2 })]),
        budgets: [
          budgetOf('kept', 0, { metadata: { namespace: 'other', name: 'x' } }),
          budgetOf('kept', 0, { spec: { selector: {} } }),
        ],
      },
      'n1: a',
    ],
    [
      'no budget is about a pod without labels',
      {
        on: two([one('a', { units: 2 })], [one('c', { priority: 50, units: 2 })]),
        budgets: [
          budgetOf('kept', 0, { spec: { selector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] } } }),
        ],
      },
      'n1: a',
    ],
    [
      'the lowest of the highest priorities, whatever the number',
      { on: two([one('a'), one('b', { priority: 1 })], [one('c', { units: 2, priority: 2 })]) },
      'n1: b a',
    ],
    [
      'the smallest sum of priorities; a further pod always adds to it',
      { on: two([one('a', { priority: -5 }), one('b', { priority: -5 })], [one('c', { units: 2, priority: -5 })]) },
      'n2: c',
    ],
    [
      'the node whose most important victim began last',
      { on: two([one('a', { units: 2, seconds: 60 })], [one('b', { units: 2, seconds: 5 })]) },
      'n2: b',
    ],
    [
      'a pod that has not begun yet begins now',
      { on: two([one('a', { units: 2, seconds: 0.5 })], [one('b', { units: 2, seconds: undefined })]) },
      'n2: b',
    ],
    [
      'on one node: the lower priority first, and no more than needed',
      {
        on: [
          nodeOf('n1', 4, [one('a', { priority: 3, units: 2 }), one('b', { priority: 2 }), one('c', { priority: 1 })]),
        ],
      },
      'n1: b c',
    ],
    [
      'on one node: of one priority those that began last',
      { on: [nodeOf('n1', 3, [one('a', { seconds: 30 }), one('b', { seconds: 20 }), one('c', { seconds: 10 })])] },
      'n1: b c',
    ],
    [
      'pods as important as the preemptor stay',
      { on: [nodeOf('n1', 2, [one('a', { units: 2, priority: 100 })])] },
      '0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    ],
    [
      'not enough becomes free',
      { on: [nodeOf('n1', 2, [one('a', { priority: 100 }), one('b')])] },
      `0/1 nodes are available: 1 Insufficient ${UNIT}.`,
    ],
    [
      'more than the node has',
      { on: [nodeOf('n1', 1, [one('a')])] },
      '0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    ],
    [
      'preemptionPolicy Never',
      {
        on: [nodeOf('n1', 2, [one('a', { units: 2 })])],
        preemptor: { ...preemptor, spec: { preemptionPolicy: 'Never' } },
      },
      'not eligible due to preemptionPolicy=Never.',
    ],
    [
      'room made for a pod as important is left to it',
      {
        on: [nodeOf('n1', 4, [one('a', { units: 2 }), one('b', { units: 2 })])],
        nominated: [{ name: 'equal', priority: 100, units: 2, nominated: 'n1' }],
        preemptor: { ...preemptor, units: 4 },
      },
      `0/1 nodes are available: 1 Insufficient ${UNIT}.`,
    ],
    [
      'room made for a less important pod is not',
      {
        on: [nodeOf('n1', 2, [])],
        nominated: [{ name: 'less', priority: 99, units: 2, nominated: 'n1' }],
      },
      'fits n1',
    ],
    [
      'the nominated node is taken, although another is emptier',
      {
        on: [nodeOf('n1', 9, []), nodeOf('n2', 4, [one('a')])],
        preemptor: { ...preemptor, nominated: 'n2' },
      },
      'fits n2',
    ],
  ]
  for (const [rule, scene, expected] of cases) {
    t.equal(inWords(choose({ preemptor, on: [], ...scene })), expected, rule)
    const turned = { preemptor, on: [], ...scene, random: () => 0.9 }
    t.equal(inWords(choose(turned)), expected, `${rule}, from another node on`)
  }
})

t.test(
  'a pod whose victims are ending waits for them; another node is looked for once that one is hopeless',
  async (t) => {
    const ending = nodeOf('n1', 2, [])
    const victim = podOf({ name: 'victim', units: 2 })
    victim.metadata.deletionTimestamp = toTime(NOW)
    ending.addPod(podInfo(victim))
    const other = nodeOf('n2', 2, [{ name: 'b', units: 2 }])
    const preemptor = { name: 'high', priority: 100, units: 2, nominated: 'n1' }
    const wait = choose({ preemptor, on: [ending, other] })
    t.equal(inWords(wait), 'not eligible due to a terminating pod on the nominated node.')
    t.match(wait, { nominated: undefined }, 'the nomination stays')
    ending.node!.spec = { unschedulable: true }
    t.equal(inWords(choose({ preemptor, on: [ending, other] })), 'n2: b')
    t.match(choose({ preemptor, on: [ending] }), { nominated: '' }, 'without another, the nomination is taken back')
  },
)

t.test('of many nodes no more are looked at than upstream does', async (t) => {
  const on = Array.from({ length: 300 }, (_, i) => nodeOf(`n${i}`, 2, [{ name: `p${i}`, units: 2, seconds: 300 - i }]))
  // The last would be the cheapest of all.
  t.equal(inWords(choose({ preemptor: { name: 'high', priority: 1, units: 2 }, on })), 'n99: p99')
})

t.test(
  'on a cluster: the victim ends with its grace, condition, reason and event; the preemptor follows',
  async (t) => {
    const { client } = await startTestControlPlane(t, { scheduler: true })
    const namespace = 'default'
    const allocatable = { pods: '110', [UNIT]: '2' }
    await client.create<Node>(nodes, { metadata: { name: 'n1' } })
    const conditions = [{ type: 'Ready', status: 'True' }]
    await client.patch(nodes, { name: 'n1' }, { status: { allocatable, conditions } }, { subresource: 'status' })
    for (const value of [0, 1, 2]) {
      await client.create(priorityClasses, { metadata: { name: `priority-${value}` }, value })
    }
    const get = (name: string) => client.get<Pod>(pods, { namespace, name })
    const create = (name: string, priority: number, units = 2) =>
      client.create<Pod>(pods, {
        metadata: { namespace, name },
        spec: {
          priorityClassName: `priority-${priority}`,
          automountServiceAccountToken: false,
          containers: [
            {
              name: 'c',
              image: 'busybox',
              resources: { requests: { [UNIT]: `${units}` }, limits: { [UNIT]: `${units}` } },
            },
          ],
        },
      })
    const nominee = (name: string) => async () => (await get(name)).status?.nominatedNodeName
    const why = async (name: string) =>
      (await get(name)).status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? ''
    const bound = (name: string) => until(async () => (await get(name)).spec.nodeName, { what: `a node for ${name}` })
    /** As a kubelet does when the pod has ended. */
    const ended = (name: string) => client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 })

    await create('low', 0)
    await bound('low')
    const middle = await create('middle', 1)
    t.equal(await until(nominee('middle'), { what: 'the nomination' }), 'n1')
    const victim = await until(
      async () => {
        const pod = await get('low')
        return pod.metadata.deletionTimestamp ? pod : undefined
      },
      { what: 'the end of the victim' },
    )
    t.match(victim.metadata, { deletionGracePeriodSeconds: 30, reason: 'Eviction' })
    t.match(
      victim.status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
      {
        status: 'True',
        reason: 'PreemptionByScheduler',
        message: 'default-scheduler: preempting to accommodate a higher priority pod',
      },
    )
    const preempted = await until(
      async () => (await client.list<Event>(events, { namespace })).items.find(({ reason }) => reason === 'Preempted'),
      { what: 'the event' },
    )
    t.match(preempted, {
      type: 'Normal',
      action: 'Preempting',
      reportingComponent: 'default-scheduler',
      involvedObject: { kind: 'Pod', name: 'low' },
      message: `Preempted by pod ${middle.metadata.uid} on node n1`,
    })

    t.comment('a more important pod takes the room, and the nomination with it')
    await create('high', 2)
    t.equal(await until(nominee('high'), { what: 'the nomination of the second' }), 'n1')
    await until(async () => !(await nominee('middle')()), { what: 'the nomination of the first to be taken back' })
    t.equal((await get('low')).metadata.resourceVersion, victim.metadata.resourceVersion, 'the victim is left alone')
    await ended('low')
    await bound('high')
    t.equal(await nominee('high')(), undefined, 'a pod with a node has no nomination')
    await until(async () => (await why('middle')).includes('No preemption victims found'), {
      what: 'the first to find no room',
    })

    t.comment('room that is kept goes to others when the pod is gone')
    await create('small', 0, 1)
    await create('higher', 2)
    t.equal(await until(async () => (await why('higher')) && 'told', { what: 'a verdict' }), 'told')
    t.equal((await get('high')).metadata.deletionTimestamp, undefined, 'a pod as important is not preempted')
    await ended('high')
    await bound('higher')
    t.equal((await get('middle')).spec.nodeName, undefined)
  },
)
