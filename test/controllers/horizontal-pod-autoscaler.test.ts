/** What autoscalers decide, and the loop itself on a virtual clock, with the metrics that annotations set. */
import t from 'tap'
import { desiredReplicas, type Wish } from '../../controllers/horizontal-pod-autoscaler/desired-replicas.ts'
import {
  type PodMetric,
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type Situation,
} from '../../controllers/horizontal-pod-autoscaler/replica-calculator.ts'
import { ScalingHistory } from '../../controllers/horizontal-pod-autoscaler/scaling-history.ts'
import {
  type Autoscaler,
  type Behavior,
  defaultAutoscalerSettings as settings,
} from '../../controllers/horizontal-pod-autoscaler/types.ts'
import type { TrimmedPod } from '../../controllers/informers/trimmed-pod.ts'
import type { Event, KubeObject } from '../../shared/api/types.ts'
import { deployments, events, horizontalPodAutoscalers, pods } from '../../shared/client/resources.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const longAgo = '2026-01-01T00:00:00Z'
const tolerances = { scaleUp: 0.1, scaleDown: 0.1 }

function podOf(name: string, { phase = 'Running', ready = 'True', cpu = '100m', ...more }: PodTraits = {}): TrimmedPod {
  const { startTime = longAgo, changed = longAgo, deletionTimestamp } = more
  return {
    metadata: { name, ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { containers: [{ name: 'app', ...(cpu && { resources: { requests: { cpu } } }) }] },
    status: { phase, startTime, conditions: [{ type: 'Ready', status: ready, lastTransitionTime: changed }] },
  } as TrimmedPod
}
interface PodTraits {
  phase?: string
  ready?: string
  cpu?: string
  startTime?: string
  changed?: string
  deletionTimestamp?: string
}
const metricsOf = (values: Record<string, number>): Map<string, PodMetric> =>
  new Map(Object.entries(values).map(([name, value]) => [name, { value, timestampMs: nowMs, windowMs: 15_000 }]))
const situation = (pods: TrimmedPod[], currentReplicas = pods.length): Situation => ({
  pods,
  currentReplicas,
  tolerances,
  settings,
  nowMs,
})
const cpu = { resource: 'cpu', container: '', target: 50 }
const utilization = (pods: TrimmedPod[], values: Record<string, number>) =>
  replicasForUtilization(situation(pods), metricsOf(values), cpu)

t.test('replicas for a utilization', async (t) => {
  const two = [podOf('a'), podOf('b')]
  t.same(utilization(two, { a: 100, b: 100 }), { replicas: 4, usage: 100, utilization: 100 })
  t.same(utilization(two, { a: 55, b: 53 }), { replicas: 2, usage: 54, utilization: 54 }, 'within the tolerance')
  t.same(utilization(two, { a: 10, b: 10 }), { replicas: 1, usage: 10, utilization: 10 })
  t.equal(
    utilization([...two, podOf('c')], { a: 100, b: 100 }).replicas,
    4,
    'a missing pod uses nothing while it grows',
  )
  t.equal(utilization([...two, podOf('c')], { a: 10, b: 10 }).replicas, 3, 'and all of its request while it shrinks')
  t.equal(utilization([...two, podOf('c', { phase: 'Pending' })], { a: 60, b: 60 }).replicas, 3, 'a pod that starts')
  const gone = podOf('c', { deletionTimestamp: longAgo })
  t.equal(utilization([...two, gone], { a: 100, b: 100, c: 900 }).replicas, 4, 'a pod that is being deleted')
})

t.test('the CPU of a pod that has just begun counts when a whole window is of its ready time', async (t) => {
  const young = { startTime: '2026-01-01T00:59:00Z' }
  const values = { a: 100, b: 1000 }
  const withYoung = (changed: string) => utilization([podOf('a'), podOf('b', { ...young, changed })], values).replicas
  t.equal(withYoung('2026-01-01T00:59:50Z'), 2, 'ready for 10 s: the window of 15 s is of its start as well')
  t.equal(withYoung('2026-01-01T00:59:40Z'), 22)
  const never = podOf('b', { ready: 'False', changed: longAgo })
  t.equal(utilization([podOf('a'), never], values).replicas, 2, 'never ready, however old')
})

t.test('what cannot be computed is said in upstream’s words', async (t) => {
  const refused = (pods: TrimmedPod[], values: Record<string, number>, container = '') => {
    try {
      replicasForUtilization(situation(pods), metricsOf(values), { ...cpu, container })
    } catch (error) {
      return (error as Error).message
    }
  }
  t.equal(refused([], { a: 1 }), 'no pods returned by selector while calculating replica count')
  t.equal(refused([podOf('a')], {}), 'did not receive metrics for targeted pods (pods might be unready)')
  t.equal(refused([podOf('a', { cpu: '' })], { a: 1 }), 'missing request for cpu in container app of Pod a')
  t.equal(refused([podOf('a')], { a: 1 }, 'web'), 'container web not found in Pod a')
  t.equal(refused([podOf('b')], { a: 1 }), 'no metrics returned matched known pods')
})

t.test('replicas for other values', async (t) => {
  const three = situation([podOf('a'), podOf('b'), podOf('c', { ready: 'False' })])
  const average = (values: Record<string, number>) =>
    replicasForAverage(three, metricsOf(values), { resource: '', target: 1_000 })
  t.same(average({ a: 3_000, b: 3_000, c: 3_000 }), { replicas: 9, usage: 3_000 })
  t.same(average({ a: 1_000, b: 1_000, c: 1_099 }), { replicas: 3, usage: 1_033 })
  t.same(replicasForValue(three, { usage: 4_000, target: 1_000 }), { replicas: 8, usage: 4_000 }, 'two are ready')
  t.same(replicasForValue({ ...three, currentReplicas: 0 }, { usage: 1, target: 1_000 }), { replicas: 1, usage: 1 })
  t.same(replicasForShare(3, tolerances, { usage: 9_000, target: 1_000 }), { replicas: 9, usage: 3_000 })
  t.same(replicasForShare(3, tolerances, { usage: 3_100, target: 1_000 }), { replicas: 3, usage: 1_034 })
})

t.test('steps are limited', async (t) => {
  const wish: Wish = { currentReplicas: 2, wanted: 9, minReplicas: 1, maxReplicas: 10, behavior: undefined }
  const limits = { nowMs, downscaleStabilizationMs: 300_000 }
  const decide = (more: Partial<Wish>, history = new ScalingHistory()) => {
    const { replicas, conditions } = desiredReplicas({ ...wish, ...more }, history, limits)
    return [replicas, ...conditions.map(({ reason }) => reason)]
  }
  t.same(decide({}), [4, 'ReadyForNewScale', 'ScaleUpLimit'], 'four at least, else twice as many')
  t.same(decide({ currentReplicas: 5, wanted: 12 }), [10, 'ReadyForNewScale', 'TooManyReplicas'])
  t.same(decide({ wanted: 0 }), [1, 'ReadyForNewScale', 'TooFewReplicas'])
  const history = new ScalingHistory()
  history.begin(5, nowMs - 299_000)
  t.same(decide({ currentReplicas: 5, wanted: 2 }, history), [5, 'ScaleDownStabilized', 'DesiredWithinRange'])
  const old = new ScalingHistory()
  old.begin(5, nowMs - 301_000)
  t.same(decide({ currentReplicas: 5, wanted: 2 }, old), [2, 'ReadyForNewScale', 'DesiredWithinRange'])

  const rules = (type: string, value: number) => ({ policies: [{ type, value, periodSeconds: 60 }] })
  const behavior: Behavior = {
    scaleUp: { ...rules('Pods', 1), stabilizationWindowSeconds: 0, selectPolicy: 'Max' },
    scaleDown: { ...rules('Percent', 50), stabilizationWindowSeconds: 0, selectPolicy: 'Max' },
  }
  t.same(decide({ behavior }), [3, 'ReadyForNewScale', 'ScaleUpLimit'])
  const grown = new ScalingHistory()
  grown.scaled(1, 2, behavior, nowMs - 59_000)
  t.same(decide({ behavior }, grown), [2, 'ReadyForNewScale', 'ScaleUpLimit'], 'one in a minute')
  t.same(decide({ behavior, currentReplicas: 8, wanted: 1 }), [4, 'ReadyForNewScale', 'ScaleDownLimit'])
  const none = { ...behavior, scaleDown: { selectPolicy: 'Disabled' } }
  t.equal(decide({ behavior: none, currentReplicas: 8, wanted: 1 })[0], 8)
})

const template = (cpu: string | undefined) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'app', image: 'app', ...(cpu && { resources: { requests: { cpu } } }) }] },
})

t.test('the loop follows a load up and down', async (t) => {
  const clock = createVirtualClock()
  const { client } = await startTestControlPlane(t, {
    clock,
    controllers: ['horizontal-pod-autoscaler', 'deployment', 'replicaset', 'serviceaccount'],
  })
  const ref = { namespace: 'default', name: 'web' }
  const load = (cpu: string | null) =>
    client.patch(deployments, ref, { metadata: { annotations: { 'kubestage.dev/load': cpu && `cpu=${cpu}` } } })
  await client.create(deployments, {
    metadata: ref,
    spec: { selector: { matchLabels: { app: 'web' } }, template: template('200m') },
  } as unknown as KubeObject)
  await load('900m')
  await client.create(horizontalPodAutoscalers, {
    metadata: ref,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      maxReplicas: 10,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    },
  } as unknown as KubeObject)

  /** Plays the kubelet: each pod becomes ready a while after it was created. */
  const run = async () => {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(clock.now()).toISOString() }]
    const { items } = await client.list(pods, { namespace: 'default' })
    for (const { metadata, status } of items as (KubeObject & { status?: { phase?: string } })[]) {
      if (status?.phase === 'Running') continue
      const news = { status: { phase: 'Running', startTime: metadata.creationTimestamp, conditions } }
      const { namespace, name = '' } = metadata
      await client.patch(pods, { namespace, name }, news, { subresource: 'status' })
    }
  }
  const sizeOf = async () =>
    ((await client.get(deployments, ref)) as KubeObject & { spec: { replicas: number } }).spec.replicas
  const reach = (size: number, what: string) =>
    until(
      async () => {
        await run()
        await clock.advance(5_000)
        return (await sizeOf()) === size
      },
      { what },
    )
  await reach(4, 'four pods: the first step')
  await reach(9, 'nine pods that use 100m each, half of what they ask for')
  await load('300m')
  await reach(3, 'three pods, after five minutes')

  const told = (await client.get(horizontalPodAutoscalers, ref)) as unknown as Autoscaler
  t.match(told.status?.conditions, [
    { type: 'AbleToScale', status: 'True', reason: 'SucceededRescale' },
    { type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound' },
    { type: 'ScalingLimited', status: 'False', reason: 'DesiredWithinRange' },
  ])
  const { items } = await until(
    async () => {
      const found = await client.list<Event>(events, { namespace: 'default' })
      return found.items.some(({ message }) => message?.startsWith('New size: 3')) ? found : undefined
    },
    { what: 'the event of the last step' },
  )
  const messages = items.filter(({ reason }) => reason === 'SuccessfulRescale').map(({ message }) => message)
  const above = 'cpu resource utilization (percentage of request) above target'
  t.ok(messages.includes(`New size: 4; reason: ${above}`))
  t.ok(messages.includes(`New size: 9; reason: ${above}`))
  t.ok(messages.includes('New size: 3; reason: All metrics below target'))
})

t.test('what an autoscaler cannot do is in its conditions, in upstream’s words', async (t) => {
  const clock = createVirtualClock()
  const { client } = await startTestControlPlane(t, {
    clock,
    controllers: ['horizontal-pod-autoscaler', 'deployment', 'replicaset', 'serviceaccount'],
  })
  const autoscaler = (name: string, target: object, metrics?: object[]) =>
    client.create(horizontalPodAutoscalers, {
      metadata: { namespace: 'default', name },
      spec: { scaleTargetRef: target, maxReplicas: 3, metrics },
    } as unknown as KubeObject)
  const conditionsOf = (name: string, type: string) =>
    until(
      async () => {
        await clock.advance(5_000)
        const found = await client.get(horizontalPodAutoscalers, { namespace: 'default', name })
        return (found as unknown as Autoscaler).status?.conditions?.find((one) => one.type === type)
      },
      { what: `${type} of ${name}` },
    )
  await client.create(deployments, {
    metadata: { namespace: 'default', name: 'idle' },
    spec: { selector: { matchLabels: { app: 'web' } }, template: template(undefined) },
  } as unknown as KubeObject)
  await autoscaler('absent', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'none' })
  await autoscaler('unknown', { apiVersion: 'example.com/v1', kind: 'Thing', name: 'none' })
  await autoscaler('unmeasured', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'idle' })
  const prefix = "the HPA controller was unable to get the target's current scale: "
  t.match(await conditionsOf('absent', 'AbleToScale'), {
    status: 'False',
    reason: 'FailedGetScale',
    message: `${prefix}deployments.apps "none" not found`,
  })
  t.match(await conditionsOf('unknown', 'AbleToScale'), {
    message: `${prefix}no matches for kind "Thing" in group "example.com"`,
  })
  t.match(await conditionsOf('unmeasured', 'ScalingActive'), {
    status: 'False',
    reason: 'FailedGetResourceMetric',
    message:
      'the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
  })
  await autoscaler('rival', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'idle' })
  const rival = await until(
    async () => {
      const found = await conditionsOf('rival', 'ScalingActive')
      return found?.reason === 'AmbiguousSelector' ? found : undefined
    },
    { what: 'two autoscalers of the same pods' },
  )
  t.match(rival.message, /^pods by selector app=web are controlled by multiple HPAs: \[\{(rival|unmeasured) default\} /)
})
