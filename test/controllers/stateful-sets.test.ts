import t from 'tap'
import { claimsOf, identify, ordinalOf } from '../../controllers/stateful-set/identity.ts'
import { planStatefulSet, statefulSetStatus } from '../../controllers/stateful-set/plan.ts'
import { wantedOwners } from '../../controllers/stateful-set/pod-claims.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { StatefulSet } from '../../shared/api/workloads/workloads.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const setOf = (spec: Partial<StatefulSet['spec']> = {}, status: object = {}): StatefulSet => ({
  metadata: { name: 'db', namespace: 'default', uid: 'set', generation: 1 },
  spec: { serviceName: 'db', replicas: 3, selector: { matchLabels: { app: 'db' } }, template: {}, ...spec },
  status: { replicas: 0, ...status },
})
interface PodParts {
  ready?: boolean
  readyFor?: number
  revision?: string
  phase?: string
  going?: boolean
}
const podOf = (
  ordinal: number,
  { ready = true, readyFor = 3600, revision = 'new', phase = 'Running', going = false }: PodParts = {},
): Pod => ({
  metadata: {
    name: `db-${ordinal}`,
    uid: `pod-${ordinal}`,
    labels: { 'controller-revision-hash': revision },
    ...(going && { deletionTimestamp: '2026-01-01T00:59:00Z' }),
  },
  spec: { containers: [] },
  status: {
    phase,
    conditions: [
      {
        type: 'Ready',
        status: ready ? 'True' : 'False',
        lastTransitionTime: new Date(nowMs - readyFor * 1000).toISOString(),
      },
    ],
  },
})
const pods = (...parts: PodParts[]): Pod[] => parts.map((part, ordinal) => podOf(ordinal, part))
/** What is done: `+1:new` makes a pod of a revision, `-2:Update` deletes one for a reason. */
const steps = (present: Pod[], set = setOf()): string[] => {
  const { create, remove } = planStatefulSet({ set, pods: present, current: 'old', update: 'new', nowMs })
  return [
    ...create.map(({ ordinal, revision }) => `+${ordinal}:${revision}`),
    ...remove.map(({ pod, reason }) => `-${ordinalOf(pod, set)}:${reason}`),
  ]
}
const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } })
const old = { revision: 'old' }

t.test('one after the other', async (t) => {
  const start = setOf(rolling({ partition: 0 }))
  t.same(steps([], start), ['+0:new'])
  t.same(steps([podOf(0, { ready: false })], start), [], 'the first is not ready')
  t.same(steps([podOf(0)], start), ['+1:new'])
  t.same(steps([podOf(0), podOf(2)], start), ['+1:new'], 'a gap is filled')
  t.same(steps([podOf(0, { readyFor: 5 })], setOf({ minReadySeconds: 10 })), [], 'nor long enough')
  t.same(steps([podOf(0, { going: true })], start), [], 'the one before it is still going')
  t.same(steps([podOf(0, { phase: 'Failed', ready: false })], start), ['-0:undefined'], 'one that ended is replaced')
  t.same(steps([podOf(0, { phase: 'Succeeded', ready: false })], start), ['-0:undefined'])
  t.same(steps([podOf(5)], setOf({ replicas: 2, ordinals: { start: 5 } })), ['+6:new'])
  t.same(steps([], { ...start, metadata: { ...start.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }), [])
})

t.test('fewer: the highest first, when those that stay are up', async (t) => {
  const one = setOf({ replicas: 1 })
  t.same(steps(pods({}, {}, {}), one), ['-2:Decommissioned'])
  t.same(steps(pods({}, {}, { going: true }), one), [], 'the last one is not gone yet')
  t.same(steps(pods({ ready: false }, {}, {}), one), [], 'nor is the one that stays up')
  t.same(steps(pods({}, { ready: false }, {}), one), ['-2:Decommissioned'])
  t.same(steps(pods({}, {}, { ready: false }), one), ['-2:Decommissioned'], 'the one that is down may go')
  t.same(steps(pods({}, { ready: false }, { ready: false }), one), [], 'but not before a lower one that is down, too')
  const stray = { ...podOf(0), metadata: { ...podOf(0).metadata, name: 'other' } }
  t.same(steps([...pods({}), stray], one), [], 'whose name no set gave is left alone')
})

t.test('in parallel', async (t) => {
  const set = setOf({ podManagementPolicy: 'Parallel', ...rolling({ partition: 0 }) })
  t.same(steps([], set), ['+0:new', '+1:new', '+2:new'])
  t.same(steps([podOf(1, { ready: false })], set), ['+0:new', '+2:new'])
  const none = setOf({ replicas: 0, podManagementPolicy: 'Parallel' })
  t.same(steps(pods({}, { going: true }, { ready: false }), none), ['-2:Decommissioned', '-0:Decommissioned'])
})

t.test('old pods are replaced from the highest down', async (t) => {
  const set = setOf(rolling({ partition: 0 }))
  t.same(steps(pods(old, old, old), set), ['-2:Update'])
  t.same(steps(pods(old, old, {}), set), ['-1:Update'])
  t.same(steps(pods(old, old, { ready: false }), set), [], 'the new one is not up')
  t.same(steps(pods(old, old, old), setOf(rolling({ partition: 2 }))), ['-2:Update'])
  t.same(steps(pods(old, old, {}), setOf(rolling({ partition: 2 }))), [], 'below the partition they stay')
  t.same(steps([podOf(0, old)], setOf(rolling({ partition: 2 }))), ['+1:old'], 'and come back as they were')
  t.same(steps(pods(old, old, old), setOf({ updateStrategy: { type: 'OnDelete' } })), [])
  t.same(steps(pods(old, {}), setOf({ updateStrategy: { type: 'OnDelete' } })), ['+2:new'])
  t.same(steps(pods(old, old, old), setOf(rolling({ maxUnavailable: 2 }))), ['-2:Update', '-1:Update'])
  t.same(steps(pods(old, old, old), setOf(rolling({ maxUnavailable: '70%' }))), ['-2:Update', '-1:Update'])
  t.same(steps(pods(old, old, old), setOf(rolling({ maxUnavailable: '10%' }))), ['-2:Update'])
  const parallel = { podManagementPolicy: 'Parallel' }
  const broken = pods(old, old, { ...old, ready: false })
  t.same(steps(broken, setOf({ ...parallel, ...rolling({ partition: 0 }) })), ['-2:Update'], 'one that is down first')
  t.same(steps(broken, setOf({ ...parallel, ...rolling({ maxUnavailable: 2 }) })), ['-2:Update'])
})

t.test('a pod’s name, place and claims', async (t) => {
  const volumeClaimTemplates = [{ metadata: { name: 'data', labels: { own: '1' } }, spec: { accessModes: ['a'] } }]
  const set = setOf({ volumeClaimTemplates } as Partial<StatefulSet['spec']>)
  const volumes = [{ name: 'data', emptyDir: {} }, { name: 'other' }]
  const pod: Pod = { metadata: { labels: { app: 'db' } }, spec: { containers: [], volumes } }
  identify(pod, set, { ordinal: 1, revision: 'db-hash' })
  t.match(pod, {
    metadata: {
      name: 'db-1',
      labels: {
        app: 'db',
        'statefulset.kubernetes.io/pod-name': 'db-1',
        'apps.kubernetes.io/pod-index': '1',
        'controller-revision-hash': 'db-hash',
      },
    },
    spec: {
      hostname: 'db-1',
      subdomain: 'db',
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-1' } }, { name: 'other' }],
    },
  })
  t.match(claimsOf(set, 1).get('data')?.metadata, {
    name: 'data-db-1',
    namespace: 'default',
    labels: { own: '1', app: 'db' },
  })
  const ordinal = (name: string) => ordinalOf({ metadata: { name } }, set)
  t.same(['db-0', 'db-12', 'db-', 'db-a', 'other-1', 'db-1-1'].map(ordinal), [0, 12, ...Array(4).fill(undefined)])
})

t.test('whose the claims are', async (t) => {
  const owners = (
    policy: { whenDeleted: string; whenScaled: string },
    condemned: boolean,
    has: { uid: string; kind: string }[] = [],
  ) => {
    const references = has.map((one) => ({ ...one, apiVersion: 'v1', name: 'x' }))
    const set = setOf({ persistentVolumeClaimRetentionPolicy: policy })
    return wantedOwners({ ownerReferences: references }, set, { pod: podOf(1), condemned })?.map(({ kind }) => kind)
  }
  const keep = { whenDeleted: 'Retain', whenScaled: 'Retain' }
  const withSet = { whenDeleted: 'Delete', whenScaled: 'Retain' }
  const withPod = { whenDeleted: 'Retain', whenScaled: 'Delete' }
  const both = { whenDeleted: 'Delete', whenScaled: 'Delete' }
  const set = { uid: 'set', kind: 'StatefulSet' }
  const pod = { uid: 'pod-1', kind: 'Pod' }
  t.same(owners(keep, false), undefined, 'nothing to change')
  t.same(owners(keep, false, [set, { uid: 'other', kind: 'ConfigMap' }]), ['ConfigMap'])
  t.same(owners(withSet, false), ['StatefulSet'])
  t.same(owners(withSet, true, [set]), undefined)
  t.same(owners(withPod, false), undefined)
  t.same(owners(withPod, true), ['Pod'])
  t.same(owners(both, true, [set]), ['Pod'])
  t.same(owners(both, false, [pod]), ['StatefulSet'], 'it is to stay after all')
})

t.test('the status', async (t) => {
  const told = (present: Pod[], set = setOf()) =>
    statefulSetStatus({ set, pods: present, current: 'old', update: 'new', nowMs })
  t.match(told([...pods(old, old), podOf(2, { readyFor: 1 })], setOf({ minReadySeconds: 10 })), {
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 2,
    currentReplicas: 2,
    updatedReplicas: 1,
    currentRevision: 'old',
    updateRevision: 'new',
  })
  t.match(told(pods({}, {}, {})), { currentReplicas: 3, currentRevision: 'new' }, 'the rollout is over')
  t.match(told(pods({}, {}, { going: true })), { replicas: 3, updatedReplicas: 2, currentRevision: 'old' })
  const onDelete = setOf({ updateStrategy: { type: 'OnDelete' } })
  t.match(told(pods({}, {}, {}), onDelete), { currentReplicas: 0, currentRevision: 'old' })
})
