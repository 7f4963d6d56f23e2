import t from 'tap'
import {
  belongsOn,
  daemonSetStatus,
  outdated,
  pinned,
  placement,
  surging,
} from '../../controllers/daemon-set/daemon-pods.ts'
import { ReplacementDelays } from '../../controllers/daemon-set/replacement-delays.ts'
import { beyondLimit, currentRevision } from '../../controllers/workloads/revision-history.ts'
import type { Node, Pod, PodSpec } from '../../shared/api/types.ts'
import type { ControllerRevision, DaemonSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const setOf = (spec: Partial<PodSpec> = {}, maxUnavailable: number | string = 1): DaemonSet => ({
  metadata: { name: 'agent', generation: 1 },
  spec: {
    selector: {},
    template: { spec: { containers: [], ...spec } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } as object },
  },
})
const nodeOf = (name: string, spec: Node['spec'] = {}): Node => ({ metadata: { name, labels: { disk: name } }, spec })
interface PodParts {
  ready?: boolean
  hash?: string
  phase?: string
  going?: boolean
  created?: string
}
const podOf = (
  nodeName: string,
  { ready = true, hash = 'new', phase = 'Running', going = false, created = '00' }: PodParts = {},
): Pod => ({
  metadata: {
    name: `${nodeName}-${created}`,
    labels: { 'controller-revision-hash': hash },
    creationTimestamp: `2026-01-01T00:00:${created}Z`,
    ...(going && { deletionTimestamp: '2026-01-01T00:59:00Z' }),
  },
  spec: { nodeName, containers: [] },
  status: {
    phase,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  },
})
const names = (pods: readonly Pick<Pod, 'metadata'>[]) => pods.map(({ metadata }) => metadata.name)

t.test('which nodes', async (t) => {
  const taint = (key: string, effect: string): Node => nodeOf('n', { taints: [{ key, effect }] })
  const rows: [Partial<PodSpec>, Node, [run: boolean, stay: boolean]][] = [
    [{}, nodeOf('n'), [true, true]],
    [{ nodeSelector: { disk: 'other' } }, nodeOf('n'), [false, false]],
    [{ nodeName: 'other' }, nodeOf('n'), [false, false]],
    [{}, taint('own', 'NoSchedule'), [false, true]],
    [{}, taint('own', 'NoExecute'), [false, false]],
    [{}, taint('own', 'PreferNoSchedule'), [true, true]],
    [{ tolerations: [{ operator: 'Exists' }] }, taint('own', 'NoExecute'), [true, true]],
    [{}, taint('node.kubernetes.io/unschedulable', 'NoSchedule'), [true, true]],
    [{}, taint('node.kubernetes.io/unreachable', 'NoExecute'), [true, true]],
    [{}, taint('node.kubernetes.io/network-unavailable', 'NoSchedule'), [false, true]],
    [{ hostNetwork: true }, taint('node.kubernetes.io/network-unavailable', 'NoSchedule'), [true, true]],
  ]
  for (const [spec, node, [run, stay]] of rows)
    t.same(belongsOn(setOf(spec), node), { run, stay }, JSON.stringify([spec, node.spec]))
})

t.test('a pod is pinned to its node, within what its template wants', async (t) => {
  const term = { matchExpressions: [{ key: 'disk', operator: 'Exists' }] }
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } }
  const set = setOf({ affinity })
  const spec = pinned(set.spec.template.spec!, 'n', set)
  t.same(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, [
    { ...term, matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
  ])
  const unscheduled = { ...podOf('n'), spec: pinned({ containers: [] }, 'n', setOf()) }
  t.same(placement({ set: setOf(), nodes: [nodeOf('n')], pods: [unscheduled] }, 'new', nowMs).create, [])
})

t.test('one pod on each', async (t) => {
  const nodes = [nodeOf('a'), nodeOf('b'), nodeOf('c')]
  const plan = (pods: Pod[], set = setOf(), at = nodes) => placement({ set, nodes: at, pods }, 'new', nowMs)
  t.same(plan([]).create, ['a', 'b', 'c'])
  t.same(plan([podOf('a'), podOf('b', { going: true })]).create, ['c'], 'the old one is not gone yet')
  const twice = plan([podOf('a', { created: '05' }), podOf('a'), podOf('b'), podOf('c')])
  t.match(twice.remove, [{ pod: { metadata: { name: 'a-05' } }, reason: 'Decommissioned' }])
  const ended = plan([podOf('a', { phase: 'Failed' }), podOf('b'), podOf('c')])
  t.same([names(ended.ended), ended.remove.map(({ reason }) => reason), ended.create], [['a-00'], [undefined], []])
  const tainted = [nodeOf('a', { taints: [{ key: 'k', effect: 'NoExecute' }] })]
  t.match(plan([podOf('a')], setOf(), tainted), { create: [], remove: [{ reason: 'IntolerableTaint' }] })
})

t.test('which old pods may be replaced', async (t) => {
  const nodes = ['a', 'b', 'c', 'd'].map((name) => nodeOf(name))
  const old = { hash: 'old' }
  const replaced = (pods: Pod[], maxUnavailable: number | string = 1) =>
    names(outdated({ set: setOf({}, maxUnavailable), nodes, pods }, 'new', nowMs))
  const allOld = ['a', 'b', 'c', 'd'].map((name) => podOf(name, old))
  t.same(replaced(allOld), ['a-00'])
  t.same(replaced(allOld, '50%'), ['a-00', 'b-00'])
  t.same(replaced(allOld, '1%'), ['a-00'])
  t.same(replaced([podOf('a', { ready: false }), ...allOld.slice(1)]), [], 'a new one is not up yet')
  t.same(replaced(allOld.slice(1)), [], 'nor is one that is still to be made')
  t.same(
    replaced([...allOld.slice(0, 3), podOf('d', { ...old, ready: false })]),
    ['d-00'],
    'what is not up costs nothing',
  )
  const onDelete = { ...setOf(), spec: { ...setOf().spec, updateStrategy: { type: 'OnDelete' } } }
  t.same(outdated({ set: onDelete, nodes, pods: allOld }, 'new', nowMs), [])
})

t.test('new pods beside old ones', async (t) => {
  const set = setOf({}, 0)
  Object.assign(set.spec.updateStrategy?.rollingUpdate ?? {}, { maxSurge: 1 })
  const nodes = ['a', 'b', 'c'].map((name) => nodeOf(name))
  const old = { hash: 'old' }
  const [a, b, c] = ['a', 'b', 'c'].map((name) => podOf(name, old))
  const fresh = (ready: boolean) => podOf('a', { created: '09', ready })
  const on = (...pods: Pod[]) => surging({ set, nodes, pods }, 'new', nowMs)
  const removed = (...pods: Pod[]) =>
    placement({ set, nodes, pods }, 'new', nowMs).remove.map(({ pod, reason }) => `${pod.metadata.name} ${reason}`)
  t.same(on(a!, b!, c!), ['a'])
  t.same(outdated({ set, nodes, pods: [a!, b!, c!] }, 'new', nowMs), [], 'none goes before')
  t.same(on(a!, fresh(false), b!, c!), [], 'the new one is not up')
  t.same(on(a!, fresh(true), b!, c!), ['b'])
  t.same(on(podOf('a', { ...old, ready: false }), b!, c!), ['a', 'b'], 'one that is down costs nothing')
  t.same(removed(a!, fresh(false), b!, c!), [])
  t.same(removed(a!, fresh(true), b!, c!), ['a-00 Update'])
  t.same(removed(podOf('a', { ...old, ready: false }), fresh(false), b!, c!), ['a-00 Update'])
  t.same(removed(fresh(true), podOf('a', { created: '10' }), b!, c!), ['a-10 Decommissioned'])
  t.same(surging({ set: setOf(), nodes, pods: [a!, b!, c!] }, 'new', nowMs), [])
})

t.test('an ended pod is replaced ever later', async (t) => {
  const clock = createVirtualClock()
  const delays = new ReplacementDelays(clock)
  const set = setOf()
  set.metadata = { ...set.metadata, uid: 'set', generation: 1 }
  t.equal(delays.leftMs(set, 'a'), 0)
  t.equal(delays.leftMs(set, 'a'), 1_000)
  t.equal(delays.leftMs(set, 'b'), 0, 'each node for itself')
  await clock.advance(1_000)
  t.equal(delays.leftMs(set, 'a'), 0)
  t.equal(delays.leftMs(set, 'a'), 2_000)
  t.equal(delays.leftMs({ ...set, metadata: { ...set.metadata, uid: 'other' } }, 'a'), 0, 'another set')
  const changed = { ...set, metadata: { ...set.metadata, generation: 2 } }
  t.equal(delays.leftMs(changed, 'a'), 0, 'another template')
  t.equal(delays.leftMs(changed, 'a'), 1_000)
  await clock.advance(1_000)
  t.equal(delays.leftMs(changed, 'a'), 0)
  await clock.advance(30 * 60_000 + 1)
  t.equal(delays.leftMs(changed, 'a'), 0)
  t.equal(delays.leftMs(changed, 'a'), 1_000, 'it has been good for half an hour')
  delays.forget(changed)
  t.equal(delays.leftMs(changed, 'a'), 0)
})

t.test('the status', async (t) => {
  const nodes = [nodeOf('a'), nodeOf('b'), nodeOf('c'), nodeOf('d', { taints: [{ key: 'k', effect: 'NoSchedule' }] })]
  const pods = [podOf('a'), podOf('b', { hash: 'old', ready: false }), podOf('d')]
  t.same(daemonSetStatus({ set: setOf(), nodes, pods }, 'new', nowMs), {
    desiredNumberScheduled: 3,
    currentNumberScheduled: 2,
    numberMisscheduled: 1,
    numberReady: 1,
    observedGeneration: 1,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 2,
  })
})

t.test('revisions beyond the limit', async (t) => {
  const revisionOf = (revision: number): ControllerRevision => ({
    metadata: { name: `r${revision}`, labels: { 'controller-revision-hash': `h${revision}` } },
    revision,
  })
  const all = [3, 1, 2, 4].map(revisionOf)
  const gone = (limit: number, ...inUse: string[]) =>
    beyondLimit(all, { limit, inUse: new Set(inUse) }).map(({ metadata }) => metadata.name)
  t.same(gone(1, 'h4'), ['r1', 'r2'])
  t.same(gone(0, 'h4', 'h1'), ['r2', 'r3'])
  t.same(gone(10), [])
})

t.test('what a revision keeps', async (t) => {
  const client = { create: async (_resource, made) => made } as Pick<Client, 'create'> as Client
  const set = setOf({ restartPolicy: 'Always', hostNetwork: true })
  set.metadata.annotations = { 'kubernetes.io/change-cause': 'a reason' }
  const { data, metadata, revision } = await currentRevision(set, [], {
    client,
    kind: { apiVersion: 'apps/v1', kind: 'DaemonSet' },
  })
  t.equal(
    JSON.stringify(data),
    '{"spec":{"template":{"$patch":"replace","spec":{"hostNetwork":true,"restartPolicy":"Always"}}}}',
    'keys in order',
  )
  t.same(metadata.annotations, { 'kubernetes.io/change-cause': 'a reason' }, "the set's own, as of now")
  t.equal(revision, 1)
})
