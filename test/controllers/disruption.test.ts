import t from 'tap'
import { budgetOf, mayGoUnready, needsNoBudget, spend } from '../../apiserver/http/subresources/disruption-budget.ts'
import { budgetStatus, countsOwners } from '../../controllers/disruption/budget-status.ts'
import { ownersScale } from '../../controllers/disruption/owners-scale.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { notFound } from '../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod, PodDisruptionBudget } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'

const nowMs = Date.parse('2026-01-01T00:10:00Z')
type Owner = NonNullable<Pod['metadata']['ownerReferences']>[number]
const ownedBy = (kind: string, name: string, apiVersion = 'apps/v1'): Owner => ({
  apiVersion,
  kind,
  name,
  uid: `${name}-uid`,
  controller: true,
})
const podOf = (name: string, { ready = true, metadata = {} }: { ready?: boolean; metadata?: object } = {}): Pod => ({
  metadata: { name, namespace: 'ns', labels: { app: 'web' }, ...metadata },
  spec: { containers: [] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})
const budgetWith = (
  spec: PodDisruptionBudget['spec'],
  status?: PodDisruptionBudget['status'],
): PodDisruptionBudget => ({
  metadata: { name: 'b', namespace: 'ns', generation: 1 },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  status,
})

t.test('how many may go', async (t) => {
  const pods = [
    podOf('a'),
    podOf('b'),
    podOf('c', { ready: false }),
    podOf('d', { metadata: { deletionTimestamp: 'x' } }),
  ]
  const rows: [PodDisruptionBudget['spec'], number, [number, number, number]][] = [
    // expected pods, desired healthy, allowed; of four pods two are healthy
    [{ minAvailable: 1 }, 0, [4, 1, 1]],
    [{ minAvailable: 2 }, 0, [4, 2, 0]],
    [{ minAvailable: 9 }, 0, [4, 9, 0]],
    [{ minAvailable: '25%' }, 3, [3, 1, 1]],
    [{ minAvailable: '100%' }, 0, [0, 0, 0]],
    [{ maxUnavailable: 1 }, 3, [3, 2, 0]],
    [{ maxUnavailable: '34%' }, 3, [3, 1, 1]],
    [{ maxUnavailable: 5 }, 3, [3, 0, 2]],
    [{}, 0, [0, 0, 0]],
  ]
  for (const [spec, scale, wanted] of rows) {
    const budget = budgetWith(spec)
    const { status } = budgetStatus({ budget, pods, ownersScale: scale, nowMs })
    const { expectedPods, desiredHealthy, disruptionsAllowed, currentHealthy, observedGeneration, conditions } = status
    t.same([expectedPods, desiredHealthy, disruptionsAllowed], wanted, JSON.stringify(spec))
    t.same([currentHealthy, observedGeneration], [2, 1], 'a terminating pod is not healthy')
    const allowed = wanted[2] > 0
    t.match(conditions, [
      {
        type: 'DisruptionAllowed',
        status: allowed ? 'True' : 'False',
        reason: allowed ? 'SufficientPods' : 'InsufficientPods',
        lastTransitionTime: '2026-01-01T00:10:00Z',
      },
    ])
  }
  t.same(
    [{ minAvailable: 1 }, { minAvailable: '1%' }, { maxUnavailable: 1 }].map((spec) => countsOwners(budgetWith(spec))),
    [false, true, true],
  )
})

t.test('a pod whose eviction was granted counts as gone, for two minutes', async (t) => {
  const disruptedPods = { a: '2026-01-01T00:09:00Z', b: '2026-01-01T00:07:59Z', gone: '2026-01-01T00:09:00Z' }
  const budget = budgetWith(
    { minAvailable: 1 },
    { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptedPods },
  )
  const verdict = budgetStatus({ budget, pods: [podOf('a'), podOf('b')], ownersScale: 0, nowMs })
  t.same(verdict.status.disruptedPods, { a: '2026-01-01T00:09:00Z' })
  t.equal(verdict.status.currentHealthy, 1, 'b is there again')
  t.same(
    verdict.overdue.map(({ metadata }) => metadata.name),
    ['b'],
  )
  t.equal(verdict.againInMs, 60_000)
})

t.test('what owners want', async (t) => {
  const objects: Record<string, KubeObject & { spec?: object }> = {
    'deployments/d': { metadata: { name: 'd', uid: 'd-uid' }, spec: { replicas: 5 } },
    'replicasets/r': { metadata: { name: 'r', uid: 'r-uid' }, spec: { replicas: 3 } },
    'replicasets/of-d': {
      metadata: { name: 'of-d', uid: 'of-d-uid', ownerReferences: [ownedBy('Deployment', 'd')] },
      spec: { replicas: 4 },
    },
    'jobs/j': { metadata: { name: 'j', uid: 'j-uid' } },
    'rollouts/x': { metadata: { name: 'x', uid: 'x-uid' }, spec: { size: 7 } },
  }
  const client = {
    async get({ plural, group }: { plural: string; group: string }, { name }: { name: string }) {
      const found = objects[`${plural}/${name}`]
      if (!found) throw notFound({ plural, group }, name)
      return found
    },
  } as unknown as Client
  const scalable = { version: 'v1', namespaced: true, subresources: { scale: true } }
  const custom = { scale: { specReplicas: ({ spec }: KubeObject & { spec?: { size?: number } }) => spec?.size } }
  const current = () => [
    { group: 'apps', kind: 'Deployment', plural: 'deployments', ...scalable },
    { group: 'apps', kind: 'ReplicaSet', plural: 'replicasets', ...scalable },
    { group: 'batch', kind: 'Job', plural: 'jobs', version: 'v1', namespaced: true },
    { group: 'example.com', kind: 'Rollout', plural: 'rollouts', version: 'v1', namespaced: true, custom },
  ]
  const scaleOf = (...owners: (Owner | undefined)[]) => {
    const pods = owners.map((owner, index) => podOf(`p${index}`, { metadata: { ownerReferences: owner && [owner] } }))
    return ownersScale(pods, { client, resources: { current, follow: () => () => {} } })
  }
  const r = ownedBy('ReplicaSet', 'r')
  t.equal((await scaleOf(r, r, ownedBy('ReplicaSet', 'of-d'))).scale, 3 + 5, 'a deployment speaks for its replica set')
  t.equal((await scaleOf(ownedBy('Rollout', 'x', 'example.com/v1'))).scale, 7)
  t.match(await scaleOf(undefined, r), { scale: 3, unmanaged: [{ metadata: { name: 'p0' } }] })
  await t.rejects(scaleOf(ownedBy('Job', 'j', 'batch/v1')), {
    message: 'jobs.batch does not implement the scale subresource',
  })
  await t.rejects(scaleOf(ownedBy('ReplicaSet', 'absent')), { message: 'found no controllers for pod "p0"' })
  await t.rejects(scaleOf({ ...r, uid: 'another' }), { message: 'found no controllers for pod "p0"' })
})

t.test('an eviction is taken from the budget, or refused', async (t) => {
  const status = { currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 1, observedGeneration: 1 }
  const budget = budgetWith({ minAvailable: 2 }, status)
  t.match(spend(budget, 'a', nowMs).status, {
    disruptionsAllowed: 0,
    disruptedPods: { a: '2026-01-01T00:10:00Z' },
    conditions: [{ reason: 'InsufficientPods' }],
  })
  const refusal = (change: object) => {
    try {
      return spend({ ...budget, status: { ...status, ...change } }, 'a', nowMs)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const { code, message, details } = error.status
      return [code, details?.causes?.[0]?.message ?? message, error.headers['retry-after']]
    }
  }
  const synced = { disruptionsAllowed: 0 }
  const failed = [
    { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'why', lastTransitionTime: '' },
  ]
  t.same(refusal({ observedGeneration: 0 }), [
    429,
    'The disruption budget b is still being processed by the server.',
    '10',
  ])
  t.same(refusal({ disruptionsAllowed: -1 }), [
    403,
    'poddisruptionbudget.policy "b" is forbidden: pdb disruptions allowed is negative',
    undefined,
  ])
  t.match(refusal({ disruptedPods: Object.fromEntries(Array.from({ length: 2_001 }, (_, n) => [n, ''])) }), [
    403,
    /too big/,
  ])
  t.same(refusal({ ...synced, currentHealthy: 2 }), [
    429,
    'The disruption budget b needs 2 healthy pods and has 2 currently',
    undefined,
  ])
  t.match(refusal({ ...synced, conditions: failed }), [429, /currently because it failed sync: why$/])
  t.match(refusal(synced), [429, /^The disruption budget b does not allow evicting pods currently$/])
})

t.test('which budget, and when none is asked', async (t) => {
  const other = { ...budgetWith({ minAvailable: 1 }), metadata: { name: 'c', namespace: 'elsewhere' } }
  const none = { ...budgetWith({ minAvailable: 1 }), spec: { minAvailable: 1 } }
  const budget = budgetWith({ minAvailable: 1 })
  t.equal(budgetOf(podOf('a'), [other, none, budget]), budget)
  t.equal(budgetOf(podOf('a'), [other, none]), undefined)
  t.throws(() => budgetOf(podOf('a'), [budget, budget]), /more than one PodDisruptionBudget/)
  t.ok(needsNoBudget({ ...podOf('a'), status: { phase: 'Pending' } }))
  t.ok(needsNoBudget(podOf('a', { metadata: { deletionTimestamp: 'x' } })))
  t.notOk(needsNoBudget(podOf('a')))
  const unready = podOf('a', { ready: false })
  const healthy = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 }
  t.ok(mayGoUnready(unready, budgetWith({ minAvailable: 1 }, healthy)))
  t.notOk(mayGoUnready(podOf('a'), budgetWith({ minAvailable: 1 }, healthy)))
  t.notOk(mayGoUnready(unready, budgetWith({ minAvailable: 1 }, { ...healthy, currentHealthy: 0 })))
  const always = { minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' }
  t.ok(mayGoUnready(unready, budgetWith(always, { ...healthy, currentHealthy: 0 })))
})
