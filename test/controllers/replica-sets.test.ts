import t from 'tap'
import { replicaSetStatus } from '../../controllers/replica-set/replica-set-status.ts'
import { claimOn } from '../../controllers/workloads/claims.ts'
import { Expectations } from '../../controllers/workloads/expectations.ts'
import { nextAvailableInMs } from '../../controllers/workloads/pod-states.ts'
import { podsToDelete } from '../../controllers/workloads/pods-to-delete.ts'
import { reasonsToShrink, withSize } from '../../controllers/workloads/shrink-reasons.ts'
import { slowStart } from '../../controllers/workloads/slow-start.ts'
import type { Event, ObjectMeta, Pod } from '../../shared/api/types.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import { events, pods, replicaSets, replicationControllers } from '../../shared/client/resources.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import type { Situation } from '../../shared/reasons/reason-table.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const before = (seconds: number): string => toTime(nowMs - seconds * 1000)
interface PodParts {
  metadata?: ObjectMeta
  node?: string
  phase?: string
  readySeconds?: number
  restarts?: number
}
const podOf = (
  name: string,
  { metadata, node = 'n', phase = 'Running', readySeconds, restarts = 0 }: PodParts,
): Pod => ({
  metadata: { name, uid: name, creationTimestamp: before(1_000), labels: { app: 'web' }, ...metadata },
  spec: { containers: [], ...(node && { nodeName: node }) },
  status: {
    phase,
    conditions:
      readySeconds === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: before(readySeconds) }],
    containerStatuses: [{ name: 'c', image: '', imageID: '', ready: true, restartCount: restarts }],
  },
})
const setOf = (metadata: ObjectMeta, spec: Partial<ReplicaSet['spec']> = {}): ReplicaSet => ({
  metadata: { name: 'web', generation: 1, ...metadata },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web', track: 'new' } },
      spec: { containers: [{ name: 'c', image: 'busybox:1.37' }], automountServiceAccountToken: false },
    },
    ...spec,
  },
})

t.test('which pods go first', async (t) => {
  const ready = { readySeconds: 900 }
  const cost = (text: string) => ({
    ...ready,
    metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': text } },
  })
  const rows: [string, PodParts, PodParts][] = [
    ['no node yet', { node: '', ...ready }, { readySeconds: 1 }],
    ['not running', { phase: 'Pending' }, { readySeconds: 1 }],
    ['not ready', { restarts: 0 }, { readySeconds: 1, restarts: 9 }],
    ['cheaper', cost('-5'), { readySeconds: 1 }],
    ['a cost that is none counts as 0', { readySeconds: 1 }, cost('+7')],
    ['on the crowded node', { ...ready, node: 'crowded' }, { readySeconds: 1 }],
    ['ready for a shorter time', { readySeconds: 10 }, ready],
    ['of about the same age: by UID', { readySeconds: 801 }, { readySeconds: 800, restarts: 3 }],
    ['more restarts', { ...ready, restarts: 2 }, ready],
    ['younger', { ...ready, metadata: { creationTimestamp: before(5) } }, ready],
  ]
  for (const [what, first, second] of rows) {
    const [a, b] = [podOf('a', first), podOf('b', second)]
    const related = [a, b, podOf('c', { node: 'crowded' }), podOf('d', { node: 'crowded' })]
    for (const order of [
      [a, b],
      [b, a],
    ]) {
      const [gone] = podsToDelete({ pods: order, count: 1, related, nowMs })
      t.equal(gone?.metadata.name, 'a', what)
    }
  }
  t.equal(podsToDelete({ pods: [podOf('a', {})], count: 2, related: [], nowMs }).length, 1)
})

t.test('whose pods', async (t) => {
  const owner = setOf({ uid: 'me' })
  const going = setOf({ uid: 'me', deletionTimestamp: before(1) })
  const owned = (uid: string, labels = { app: 'web' }): Pod =>
    podOf('p', {
      metadata: {
        labels,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true }],
      },
    })
  const selector = [{ key: 'app', operator: 'in', values: ['web'] }] as const
  t.equal(claimOn(owned('me'), owner, selector), 'keep')
  t.equal(claimOn(owned('other'), owner, selector), 'ignore')
  t.equal(claimOn(owned('me', { app: 'x' }), owner, selector), 'release')
  t.equal(claimOn(owned('me', { app: 'x' }), going, selector), 'ignore')
  t.equal(claimOn(podOf('p', {}), owner, selector), 'adopt')
  t.equal(claimOn(podOf('p', {}), going, selector), 'ignore')
  t.equal(claimOn(podOf('p', { metadata: { deletionTimestamp: before(1) } }), owner, selector), 'ignore')
  t.equal(claimOn(podOf('p', { metadata: { labels: {} } }), owner, selector), 'ignore')
})

t.test('the status', async (t) => {
  const set = setOf({}, { minReadySeconds: 30 })
  const full = { labels: { app: 'web', track: 'new' } }
  const active = [
    podOf('a', { readySeconds: 30, metadata: full }),
    podOf('b', { readySeconds: 29 }),
    podOf('c', { phase: 'Pending' }),
  ]
  const all = [...active, podOf('d', { metadata: { deletionTimestamp: before(1) } })]
  t.same(
    replicaSetStatus({ set, pods: active, all, nowMs }),
    {
      replicas: 3,
      terminatingReplicas: 1,
      fullyLabeledReplicas: 1,
      readyReplicas: 2,
      availableReplicas: 1,
      observedGeneration: 1,
    },
    'a terminating pod is no replica',
  )
  const failure = { error: new Error('no more'), during: 'create' } as const
  const failed = replicaSetStatus({ set, pods: [], all: [], failure, nowMs })
  const condition = {
    type: 'ReplicaFailure',
    status: 'True',
    lastTransitionTime: before(0),
    reason: 'FailedCreate',
    message: 'no more',
  }
  t.same(failed, { replicas: 0, terminatingReplicas: 0, observedGeneration: 1, conditions: [condition] })
  const later = { ...set, status: failed }
  t.same(replicaSetStatus({ set: later, pods: [], all: [], failure, nowMs: nowMs + 5_000 }).conditions, [condition])
  t.equal(replicaSetStatus({ set: later, pods: [], all: [], nowMs }).conditions, undefined)
})

t.test('why a set is to shrink: for each pod the reason of its own step', async (t) => {
  const resized = (annotation: string | undefined, from: number, to: number, situation?: Situation<'Deployment'>) =>
    withSize(annotation, { from, to, situation })
  const scaled = resized(undefined, 5, 3, 'scaled down')
  const both = resized(scaled, 3, 1, 'template changed, Recreate')
  const reasons = (annotation: string | undefined, active: number, size: number) =>
    reasonsToShrink(annotation, { active, size })
  t.same(reasons(both, 5, 1), ['Decommissioned', 'Decommissioned', 'Update', 'Update'])
  t.same(reasons(both, 3, 1), ['Update', 'Update'], 'the first step is over')
  t.same(reasons(both, 2, 1), ['Update'])
  t.same(reasons(both, 1, 1), [])
  t.same(reasons(resized(both, 1, 2), 5, 2), ['Decommissioned', 'Decommissioned', 'Update'], 'one is wanted again')
  t.same(reasons(resized(both, 1, 4), 5, 4), ['Decommissioned'])
  t.same(reasons(resized(both, 1, 7), 5, 7), [])
  t.equal(resized(scaled, 3, 2, 'scaled down'), '2=scaled down', 'one reason is said once')
  t.equal(resized(undefined, 1, 3, 'scaled down'), undefined, 'it grows')
  t.same(reasons(undefined, 3, 1), [undefined, undefined])
  t.same(reasons('x;1=no such situation', 3, 1), [undefined, undefined])
})

t.test('batches double, and stop at a failure', async (t) => {
  const batches: number[] = []
  let running = 0
  const call = async () => {
    running += 1
    await Promise.resolve()
    if (running > 0) batches.push(running)
    running = 0
  }
  await slowStart(10, call)
  t.same(batches, [1, 2, 4, 3])
  let calls = 0
  const fail = async () => {
    calls += 1
    if (calls > 1) throw new Error(`call ${calls}`)
  }
  await t.rejects(slowStart(100, fail), { message: 'call 2' })
  t.equal(calls, 3)
})

t.test('when to look for an available pod again', async (t) => {
  const pods = [podOf('a', { readySeconds: 20 }), podOf('b', { readySeconds: 5 }), podOf('c', {})]
  t.equal(nextAvailableInMs(pods, 30, nowMs), 10_000)
  t.equal(nextAvailableInMs(pods, 10, nowMs), 5_000)
  t.equal(nextAvailableInMs(pods, 0, nowMs), undefined)
  t.equal(nextAvailableInMs([podOf('c', {})], 30, nowMs), undefined, 'one that is not ready is not about to be')
})

t.test('what is expected holds everything up, for five minutes', async (t) => {
  const clock = createVirtualClock()
  const expectations = new Expectations(clock)
  expectations.expect('ns/a', '+1')
  expectations.expect('ns/a', '-1')
  t.ok(expectations.satisfied('ns/b'))
  expectations.seen('ns/a', '+1')
  t.notOk(expectations.satisfied('ns/a'))
  await clock.advance(5 * 60_000 + 1)
  t.ok(expectations.satisfied('ns/a'), 'it must have come unseen')
  expectations.expect('ns/a', '+2')
  t.notOk(expectations.satisfied('ns/a'))
  expectations.seen('ns/a', '+2')
  expectations.seen('ns/a', '-1')
  t.ok(expectations.satisfied('ns/a'))
})

t.test('in a cluster', async (t) => {
  const { client } = await startTestControlPlane(t)
  const namespace = 'default'
  const podsOf = async (labelSelector: string) => (await client.list<Pod>(pods, { namespace, labelSelector })).items
  const create = (name: string, replicas: number) => {
    const labels = { app: name }
    const set = setOf({ name, namespace }, { replicas, selector: { matchLabels: labels } })
    return client.create<ReplicaSet>(replicaSets, {
      ...set,
      spec: { ...set.spec, template: { ...set.spec.template, metadata: { labels } } },
    })
  }
  const settled = (name: string, replicas: number) =>
    until(
      async () => {
        const { status, metadata } = await client.get<ReplicaSet>(replicaSets, { namespace, name })
        return status?.observedGeneration === metadata.generation && status?.replicas === replicas
      },
      { what: `${name} to have ${replicas} pods` },
    )

  await t.test('adopts, makes what is missing, releases, deletes what is too much', async (t) => {
    const spec = { containers: [{ name: 'c', image: 'busybox:1.37' }], automountServiceAccountToken: false }
    await client.create<Pod>(pods, { metadata: { namespace, name: 'orphan', labels: { app: 'web' } }, spec })
    await create('web', 3)
    await settled('web', 3)
    const owned = await podsOf('app=web')
    t.equal(owned.length, 3)
    for (const { metadata } of owned)
      t.match(metadata.ownerReferences, [
        { kind: 'ReplicaSet', name: 'web', controller: true, blockOwnerDeletion: true },
      ])
    await client.patch(pods, { namespace, name: 'orphan' }, { metadata: { labels: { app: 'free' } } })
    await until(async () => (await podsOf('app=web')).length === 3, { what: 'another in its place' })
    const [free] = await podsOf('app=free')
    t.equal(free?.metadata.ownerReferences, undefined)
    await client.patch(replicaSets, { namespace, name: 'web' }, { spec: { replicas: 1 } })
    await settled('web', 1)
    const told = await until(
      async () => {
        const { items } = await client.list<Event>(events, { namespace, fieldSelector: 'reason=SuccessfulDelete' })
        return items.length === 2 ? items : undefined
      },
      { what: 'two events' },
    )
    for (const { message, source } of told) {
      t.match(message, /^Deleted pod: web-[a-z0-9]{5}$/)
      t.equal(source?.component, 'replicaset-controller')
    }
  })

  await t.test('says why it cannot, and goes on when it can', async (t) => {
    const quota = { group: '', version: 'v1', plural: 'resourcequotas' }
    await client.create(quota, { metadata: { namespace, name: 'few' }, spec: { hard: { pods: '3' } } } as object)
    await until(
      async () => {
        const { status } = await client.get<{ status?: { hard?: object } }>(quota, { namespace, name: 'few' })
        return status?.hard
      },
      { what: 'the quota to count' },
    )
    await create('much', 4)
    const conditions = await until(
      async () => (await client.get<ReplicaSet>(replicaSets, { namespace, name: 'much' })).status?.conditions,
      { what: 'a condition' },
    )
    t.match(conditions, [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: /exceeded quota: few/ },
    ])
    await client.delete(quota, { namespace, name: 'few' })
    await settled('much', 4)
    await until(
      async () =>
        (await client.get<ReplicaSet>(replicaSets, { namespace, name: 'much' })).status?.conditions === undefined,
      { what: 'the condition to go' },
    )
    t.equal((await podsOf('app=much')).length, 4)
  })

  await t.test('a replication controller', async (t) => {
    const template = setOf({}).spec.template
    const labels = { app: 'rc' }
    await client.create(replicationControllers, {
      metadata: { namespace, name: 'rc' },
      spec: { replicas: 2, selector: labels, template: { ...template, metadata: { labels } } },
    } as object)
    const made = await until(
      async () => {
        const found = await podsOf('app=rc')
        return found.length === 2 ? found : undefined
      },
      { what: 'its pods' },
    )
    t.match(made[0]?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'ReplicationController' }])
  })
})
