import t from 'tap'
import { isComplete, pauseCondition, rolloutStatus, stuckInMs } from '../../controllers/deployment/deployment-status.ts'
import { newestAnnotations, nextRevision } from '../../controllers/deployment/revisions.ts'
import { beyondHistory, newSetSize, type Step, scaleSteps, shrinkOldSets } from '../../controllers/deployment/sizes.ts'
import { isSameTemplate, templateHash } from '../../controllers/workloads/templates.ts'
import type { ObjectMeta, PodTemplateSpec } from '../../shared/api/types.ts'
import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import { deployments, pods, replicaSets } from '../../shared/client/resources.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const template: PodTemplateSpec = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'busybox:1.37' }] },
}
type Strategy = Deployment['spec']['strategy']
const rolling = (maxSurge: number | string, maxUnavailable: number | string): Strategy => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable } as object,
})
const deploymentOf = (
  replicas: number,
  parts: Partial<Deployment['spec']> = {},
  status?: Deployment['status'],
): Deployment => ({
  metadata: { name: 'web', generation: 1 },
  spec: { replicas, selector: {}, template, strategy: rolling('25%', '25%'), progressDeadlineSeconds: 600, ...parts },
  status,
})
let age = 0
const setOf = (name: string, size: number, available = size, metadata: ObjectMeta = {}): ReplicaSet => ({
  metadata: { name, generation: 1, creationTimestamp: toTime(nowMs - 3_600_000 + 1_000 * age++), ...metadata },
  spec: { replicas: size, selector: {}, template },
  status: { replicas: size, readyReplicas: available, availableReplicas: available, observedGeneration: 1 },
})
const told = (steps: readonly Step[]) => steps.map(({ set, to }) => `${set.metadata.name} ${to}`)

t.test('templates: one hash for one meaning', async (t) => {
  const same: PodTemplateSpec = {
    spec: { containers: [{ image: 'busybox:1.37', name: 'c', env: [] }] },
    metadata: { labels: { 'pod-template-hash': 'x', app: 'web' }, creationTimestamp: undefined },
  }
  const other = { ...template, spec: { containers: [{ name: 'c', image: 'busybox:1.38' }] } }
  const ordered = { ...template, spec: { containers: [{ name: 'c', image: 'busybox:1.37', args: ['a', 'b'] }] } }
  const reordered = { ...template, spec: { containers: [{ name: 'c', image: 'busybox:1.37', args: ['b', 'a'] }] } }
  t.ok(isSameTemplate(template, same))
  t.notOk(isSameTemplate(template, other))
  t.notOk(isSameTemplate(ordered, reordered))
  t.equal(templateHash(template), templateHash(same))
  t.match(templateHash(template), /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/)
  t.not(templateHash(template), templateHash(other))
  t.not(templateHash(template), templateHash(template, 1), 'another name after a collision')
})

t.test('rolling: how far the new set grows', async (t) => {
  const rows: [Strategy, number, number, number, number][] = [
    // of so many wanted, with so many old and new ones: new ones now
    [rolling('25%', '25%'), 4, 4, 0, 1],
    [rolling(0, 1), 4, 4, 0, 0],
    [rolling(0, 1), 4, 3, 0, 1],
    [rolling('100%', 0), 3, 3, 0, 3],
    [rolling('10%', 0), 3, 3, 0, 1],
    [rolling(5, 0), 3, 1, 2, 3],
    [{ type: 'Recreate' }, 3, 0, 0, 3],
  ]
  for (const [strategy, wanted, old, fresh, expected] of rows) {
    const sets = [setOf('old', old), setOf('new', fresh)]
    t.equal(
      newSetSize(deploymentOf(wanted, { strategy }), sets, fresh),
      expected,
      JSON.stringify({ strategy, old, fresh }),
    )
  }
})

t.test('rolling: how far old sets shrink', async (t) => {
  const four = deploymentOf(4)
  t.same(told(shrinkOldSets(four, [setOf('old', 4)], setOf('new', 1, 0))), ['old 3'], 'one may be unavailable')
  t.same(told(shrinkOldSets(four, [setOf('old', 3)], setOf('new', 2, 0))), [], 'and is')
  t.same(told(shrinkOldSets(four, [setOf('old', 3)], setOf('new', 2, 1))), ['old 2'])
  t.same(told(shrinkOldSets(four, [setOf('old', 1)], setOf('new', 4))), ['old 0'])
  t.same(told(shrinkOldSets(four, [setOf('old', 0)], setOf('new', 4))), [])
  t.same(
    told(shrinkOldSets(four, [setOf('sick', 2, 0), setOf('old', 2)], setOf('new', 1, 0))),
    ['sick 1'],
    'what is not available goes first',
  )
  t.same(told(shrinkOldSets(four, [setOf('older', 1), setOf('old', 4)], setOf('new', 0))), ['older 0', 'old 3'])
  const strict = deploymentOf(2, { strategy: rolling('1%', '1%') })
  t.same(told(shrinkOldSets(strict, [setOf('old', 2)], setOf('new', 1, 0))), [])
  t.same(told(shrinkOldSets(strict, [setOf('old', 2)], setOf('new', 1))), ['old 1'])
  const neither = deploymentOf(2, { strategy: rolling(0, '1%') })
  t.same(told(shrinkOldSets(neither, [setOf('old', 2)], setOf('new', 0))), ['old 1'], 'else nothing could move')
})

t.test('another size in the middle of a rollout: in proportion', async (t) => {
  const max = (text: string): ObjectMeta => ({ annotations: { 'deployment.kubernetes.io/max-replicas': text } })
  const strategy = rolling(2, 2)
  const sets = () => [setOf('old', 8, 8, max('12')), setOf('new', 4, 0, max('12'))] as const
  const scaled = (wanted: number) => {
    const [old, fresh] = sets()
    return told(scaleSteps(deploymentOf(wanted, { strategy }), fresh, [old]))
  }
  t.same(scaled(20), ['old 15', 'new 7'])
  t.same(scaled(4), ['old 4', 'new 2'])
  t.same(scaled(0), ['old 0', 'new 0'])
  t.same(told(scaleSteps(deploymentOf(7), setOf('new', 5), [setOf('old', 0)])), ['new 7'])
  t.same(told(scaleSteps(deploymentOf(5), setOf('new', 5), [])), [])
  t.same(told(scaleSteps(deploymentOf(5), undefined, [setOf('older', 0), setOf('old', 0)])), ['old 5'])
  const desired = { annotations: { 'deployment.kubernetes.io/desired-replicas': '5' } }
  t.same(told(scaleSteps(deploymentOf(5), setOf('new', 5, 5, desired), [setOf('old', 2)])), ['old 0'])
  t.same(scaleSteps(deploymentOf(9, { strategy: { type: 'Recreate' } }), setOf('new', 1), [setOf('old', 2)]), [])
})

t.test('revisions', async (t) => {
  const old = (revision: string) => ({ metadata: { annotations: { 'deployment.kubernetes.io/revision': revision } } })
  t.equal(nextRevision([]), 1n)
  t.equal(nextRevision([old('3'), old('12')]), 13n)
  const large = '3546343826724305832'
  t.equal(nextRevision([old('12'), old(large)]), 3546343826724305833n, 'an int64, to the last digit')
  t.equal(nextRevision([old('12'), old('twelve'), old('9223372036854775808')]), 13n, 'what is no int64 does not count')
  t.same(newestAnnotations({ metadata: {} }, old(large), 3546343826724305833n), {
    'deployment.kubernetes.io/revision': '3546343826724305833',
    'deployment.kubernetes.io/revision-history': large,
  })
  const deployment = {
    metadata: {
      annotations: {
        'kubernetes.io/change-cause': 'a bug',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'deployment.kubernetes.io/revision': '9',
      },
    },
  }
  t.same(newestAnnotations(deployment, { metadata: {} }, 2n), {
    'kubernetes.io/change-cause': 'a bug',
    'deployment.kubernetes.io/revision': '2',
  })
  const again = newestAnnotations(deployment, old('1'), 3n)
  t.match(again, { 'deployment.kubernetes.io/revision': '3', 'deployment.kubernetes.io/revision-history': '1' })
  const third = newestAnnotations(deployment, { metadata: { annotations: again } }, 5n)
  t.match(third, { 'deployment.kubernetes.io/revision': '5', 'deployment.kubernetes.io/revision-history': '1,3' })
  t.same(newestAnnotations(deployment, { metadata: { annotations: third } }, 5n), third)
})

t.test('what is kept of the history', async (t) => {
  const old = ['3', '1', '2'].map((revision) =>
    setOf(`r${revision}`, 0, 0, { annotations: { 'deployment.kubernetes.io/revision': revision } }),
  )
  const names = (limit: number | undefined, sets = old) =>
    beyondHistory(deploymentOf(1, { revisionHistoryLimit: limit }), sets).map(({ metadata }) => metadata.name)
  t.same(names(1), ['r1', 'r2'])
  t.same(names(3), [])
  t.same(names(undefined), [])
  t.same(names(0, [setOf('busy', 1), ...old]), ['r1', 'r2', 'r3'], 'none that has pods')
})

t.test('how it gets on', async (t) => {
  const reasonsOf = ({ conditions }: NonNullable<Deployment['status']>) =>
    Object.fromEntries((conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]))
  const begun = deploymentOf(2)
  const fresh = setOf('new', 2, 0)
  const first = rolloutStatus(begun, { all: [fresh], fresh, nowMs })
  t.match(first, { replicas: 2, updatedReplicas: 2, unavailableReplicas: 2, observedGeneration: 1 })
  t.same(reasonsOf(first), { Available: 'False MinimumReplicasUnavailable', Progressing: 'True ReplicaSetUpdated' })
  const stuck = { ...begun, status: first }
  t.equal(stuckInMs(begun, first, nowMs), 601_000)
  t.same(rolloutStatus(stuck, { all: [fresh], fresh, nowMs: nowMs + 600_000 }), first)
  const late = rolloutStatus(stuck, { all: [fresh], fresh, nowMs: nowMs + 601_000 })
  t.equal(reasonsOf(late).Progressing, 'False ProgressDeadlineExceeded')
  t.equal(stuckInMs(stuck, late, nowMs), undefined)
  const ready = setOf('new', 2)
  const done = rolloutStatus({ ...begun, status: late }, { all: [ready], fresh: ready, nowMs: nowMs + 700_000 })
  t.same(reasonsOf(done), { Available: 'True MinimumReplicasAvailable', Progressing: 'True NewReplicaSetAvailable' })
  t.match(done.conditions, [
    {},
    { message: 'ReplicaSet "new" has successfully progressed.', lastUpdateTime: toTime(nowMs + 700_000) },
  ])
  t.ok(isComplete(begun, done))
  const lost = rolloutStatus({ ...begun, status: done }, { all: [fresh], fresh, nowMs: nowMs + 800_000 })
  t.equal(reasonsOf(lost).Progressing, 'True NewReplicaSetAvailable', 'a rollout that has ended stays so')
  const failing = setOf('new', 0)
  failing.status!.conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'no' }]
  t.equal(
    reasonsOf(rolloutStatus(begun, { all: [failing], fresh: failing, nowMs })).ReplicaFailure,
    'True FailedCreate',
  )
  const endless = deploymentOf(2, { progressDeadlineSeconds: 2 ** 31 - 1 })
  t.same(Object.keys(reasonsOf(rolloutStatus(endless, { all: [fresh], fresh, nowMs }))), ['Available'])
})

t.test('paused, and not', async (t) => {
  const said = (reason: string) => ({ conditions: [{ type: 'Progressing', status: 'Unknown', reason }] })
  t.match(pauseCondition(deploymentOf(1, { paused: true })), { reason: 'DeploymentPaused', status: 'Unknown' })
  t.equal(pauseCondition(deploymentOf(1, { paused: true }, said('DeploymentPaused'))), undefined)
  t.match(pauseCondition(deploymentOf(1, {}, said('DeploymentPaused'))), { reason: 'DeploymentResumed' })
  t.equal(pauseCondition(deploymentOf(1, {}, said('ReplicaSetUpdated'))), undefined)
  t.equal(pauseCondition(deploymentOf(1, { paused: true }, said('ProgressDeadlineExceeded'))), undefined)
})

t.test('a loop that is left out, and one that is not', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: ['*', '-replicaset'] })
  const namespace = 'default'
  const labels = { app: 'web' }
  const spec = { ...deploymentOf(2).spec, selector: { matchLabels: labels }, template }
  await client.create<Deployment>(deployments, { metadata: { namespace, name: 'web' }, spec })
  await until(
    async () =>
      (await client.get<Deployment>(deployments, { namespace, name: 'web' })).status?.unavailableReplicas === 2,
    { what: 'the deployment to count its set' },
  )
  const { items } = await client.list<ReplicaSet>(replicaSets, { namespace })
  t.match(items, [{ metadata: { labels }, spec: { replicas: 2 } }])
  t.equal(items[0]?.status?.observedGeneration, undefined, 'nobody looks after the set')
  t.same((await client.list(pods, { namespace })).items, [])
})
