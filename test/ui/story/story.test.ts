/** A record's lines in, what the page shows out: states as intervals, with their times. */
import t from 'tap'
import type { RecordedObject, RecordLine } from '../../../shared/record/format.ts'
import { blames, lossRuns } from '../../../ui/story/blame.ts'
import { endingOf } from '../../../ui/story/ending.ts'
import { podFilter } from '../../../ui/story/filter.ts'
import { allMarks } from '../../../ui/story/losses.ts'
import { limits } from '../../../ui/story/model.ts'
import { phaseOf } from '../../../ui/story/pod.ts'
import { Story } from '../../../ui/story/story.ts'
import { offset, words } from '../../../ui/views/time-axis.ts'
import { rowsOf } from '../../../ui/views/timeline/geometry.ts'
import { wholeOf } from '../../../ui/views/whole.ts'

const zeroMs = Date.parse('2030-01-01T10:00:00Z')
const time = (seconds: number): string => new Date(zeroMs + seconds * 1_000).toISOString()
const seconds = (ms = Number.NaN): number => (ms - zeroMs) / 1_000

type Fields = Record<string, unknown>
interface PodFacts {
  phase?: string
  ready?: boolean
  meta?: Fields
  status?: Fields
}
const podObject = (name: string, { phase = 'Running', ready = false, meta = {}, status = {} }: PodFacts = {}) =>
  objectOf('v1', 'Pod', name, {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...meta },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'shop:v1' }] },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }], ...status },
  })
function objectOf(apiVersion: string, kind: string, name: string, fields: Fields): RecordedObject {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' }
  return { apiVersion, kind, metadata, ...fields } as RecordedObject
}
const header: RecordLine = {
  ...{ type: 'HEADER', format: 'kubestage.dev/record', version: 1, at: time(0), writer: 'test', title: 'a story' },
}
const change = (type: 'ADDED' | 'MODIFIED' | 'DELETED', at: number, object: RecordedObject): RecordLine => ({
  ...{ type, at: time(at), object },
})
const synced = (at: number): RecordLine => ({ type: 'SYNCED', at: time(at) })

function storyOf(...lines: RecordLine[]): Story {
  const story = new Story()
  for (const line of lines) story.add(line)
  return story
}
const phasesOf = (story: Story, name: string) =>
  story.podNamed('default', name)?.phases.map(({ value, startMs, endMs }) => [value, seconds(startMs), seconds(endMs)])

const deleted = { deletionTimestamp: time(24), deletionGracePeriodSeconds: 20, reason: 'Update' }
const termination = objectOf('kubestage.dev/v1', 'Termination', 'web.1', {
  ...{ podName: 'web', podUID: 'uid-web', nodeName: 'node-1', reason: 'Update', gracePeriodSeconds: 20, used: '1.1s' },
  ...{ verdict: 'stopped in 1.1 s of 20 s', verdictType: 'Stopped', phase: 'Succeeded' },
  ...{ startTime: time(4.1), endTime: time(5.3), requests: [{ user: 'jane', time: time(4), reason: 'Update' }] },
  steps: [{ name: 'EndpointRemoved', startTime: time(4), endTime: time(4.02) }],
  containers: [
    {
      ...{ name: 'main', exitCode: 0, signal: 'SIGTERM', gracePeriodSeconds: 20, used: '1.1s' },
      steps: [
        { name: 'PreStop', startTime: time(4.1), endTime: time(5.1), outcome: 'Succeeded', output: 'draining\n' },
        { name: 'SIGTERM', startTime: time(5.1), endTime: time(5.2), outcome: 'Caught' },
      ],
    },
  ],
})

t.test('the life of a pod, and its end', async (t) => {
  const story = storyOf(
    header,
    synced(0.1),
    change('ADDED', 1, podObject('web', { phase: 'Pending' })),
    change('MODIFIED', 2, podObject('web', { status: { podIP: '10.244.0.7' } })),
    change('MODIFIED', 3, podObject('web', { ready: true })),
    change('MODIFIED', 4, podObject('web', { ready: true, meta: deleted })),
    change('DELETED', 5.5, podObject('web', { phase: 'Succeeded', meta: deleted })),
    change('ADDED', 5.6, termination),
  )
  t.same(phasesOf(story, 'web'), [
    ['Pending', 1, 2],
    ['Running', 2, 3],
    ['Ready', 3, 4],
    ['Terminating', 4, 5.5],
  ])
  const pod = story.podNamed('default', 'web')!
  t.same([seconds(pod.grace?.startMs), seconds(pod.grace?.endMs)], [4, 24], 'the frame of its grace period')
  t.match(pod, { endPhase: 'Succeeded', reason: 'Update', node: 'node-1' })
  t.match(pod, { ip: '10.244.0.7', images: ['shop:v1'] }, 'the last address that it had')
  t.same([seconds(pod.endpointRemovedMs), seconds(pod.processEndMs), seconds(pod.goneMs)], [4.02, 5.2, 5.5])
  const [death] = pod.deaths
  t.match(death, { verdictType: 'Stopped', asks: [{ user: 'jane', reason: 'Update' }] })
  t.same(
    death?.containers[0]?.segments.map(({ kind, startMs, endMs }) => [kind, seconds(startMs), seconds(endMs)]),
    [
      ['hook', 4.1, 5.1],
      ['term', 5.1, 5.2],
    ],
  )
  t.equal(death?.containers[0]?.segments[0]?.output, 'draining\n')
})

t.test('what was there when the record began has its earlier times', async (t) => {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: time(-50) }]
  const meta = { creationTimestamp: time(-60) }
  const status = { conditions, startTime: time(-58) }
  const story = storyOf(header, change('ADDED', 0, podObject('old', { meta, status })), synced(0.1))
  t.same(phasesOf(story, 'old'), [
    ['Pending', -60, -58],
    ['Running', -58, -50],
    ['Ready', -50, Number.NaN],
  ])
})

t.test('after a gap, what is not there any more is gone', async (t) => {
  const story = storyOf(
    header,
    change('ADDED', 0, podObject('stays', { ready: true })),
    change('ADDED', 0, podObject('goes', { ready: true })),
    synced(0),
    { type: 'GAP', at: time(10), message: 'the reader was too slow' },
    change('ADDED', 12, podObject('stays', { ready: true })),
    synced(13),
  )
  t.equal(seconds(story.podNamed('default', 'goes')?.goneMs), 13)
  t.equal(story.podNamed('default', 'stays')?.goneMs, undefined)
  t.match(story.moments, [{ kind: 'gap', text: 'the reader was too slow' }])
})

t.test('marks: restarts, probes, evictions, endpoints', async (t) => {
  const slice = (ready: boolean) =>
    objectOf('discovery.k8s.io/v1', 'EndpointSlice', 'web-abc', {
      metadata: { name: 'web-abc', uid: 'slice', labels: { 'kubernetes.io/service-name': 'web' } },
      endpoints: [{ conditions: { ready }, targetRef: { kind: 'Pod', uid: 'uid-web' } }],
    })
  const event = objectOf('v1', 'Event', 'e', {
    ...{
      involvedObject: { kind: 'Pod', uid: 'uid-web' },
      reason: 'Unhealthy',
      message: 'probe failed',
      type: 'Warning',
    },
  })
  const containerStatuses = [{ name: 'main', restartCount: 1, lastState: { terminated: { exitCode: 3 } }, state: {} }]
  const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'evicted' }
  const story = storyOf(
    header,
    synced(0),
    change('ADDED', 1, podObject('web', { ready: true })),
    change('ADDED', 2, slice(true)),
    change('ADDED', 3, event),
    change('MODIFIED', 4, podObject('web', { status: { containerStatuses } })),
    change('MODIFIED', 5, podObject('web', { status: { containerStatuses, conditions: [target] } })),
    change('MODIFIED', 6, slice(false)),
  )
  t.match(story.podNamed('default', 'web')?.marks, [
    { kind: 'probe', atMs: zeroMs + 3_000, text: 'Unhealthy: probe failed' },
    { kind: 'restart', atMs: zeroMs + 4_000, text: 'restart 1 of main: exit code 3' },
    { kind: 'eviction', atMs: zeroMs + 5_000 },
    { kind: 'endpoint', atMs: zeroMs + 6_000, text: 'Service web no longer offers it' },
  ])
})

t.test('nodes: loss, pressure, taints', async (t) => {
  const node = (ready: string, pressure: string, taints: unknown[] = []) =>
    objectOf('v1', 'Node', 'node-1', {
      spec: { taints },
      status: {
        conditions: [
          { type: 'Ready', status: ready },
          { type: 'MemoryPressure', status: pressure },
        ],
      },
    })
  const story = storyOf(
    header,
    synced(0),
    change('ADDED', 1, node('True', 'False')),
    change('MODIFIED', 2, node('True', 'True')),
    change('MODIFIED', 3, node('Unknown', 'Unknown', [{ key: 'unreachable', effect: 'NoExecute' }])),
  )
  const seen = story.nodes.get('node-1')!
  t.match(seen.states, [
    { value: 'Ready', endMs: zeroMs + 3_000 },
    { value: 'Lost', startMs: zeroMs + 3_000 },
  ])
  t.match(seen.pressures.get('MemoryPressure'), [{ startMs: zeroMs + 2_000, endMs: zeroMs + 3_000 }])
  t.match(seen.taints.get('unreachable:NoExecute'), [{ startMs: zeroMs + 3_000 }])
})

t.test('the journal: rows by second, and a loop that does not rest', async (t) => {
  const story = storyOf(header)
  for (let index = 0; index < 60; index++) {
    const user = 'system:serviceaccount:default:loop'
    const request = {
      verb: 'update',
      user,
      path: '/x',
      resource: 'widgets',
      code: index % 2 ? 409 : 200,
      durationMs: 1,
    }
    story.add({ type: 'REQUEST', at: time(1 + index / 15), ...request })
  }
  const [row] = story.journal.values()
  t.match(row, { total: 60, failed: 30, mostPerSecond: 15, verb: 'update', resource: 'widgets' })
  t.equal(seconds(row?.hotMs), 1)
})

t.test('lost requests have a pod, a reason and a remedy', async (t) => {
  const lost = { target: 'pod/web', namespace: 'default', answered: 5, lost: 3, cut: 1, slowestMs: 9 }
  const early = { ...termination, steps: [{ name: 'EndpointRemoved', endTime: time(5.4) }] } as RecordedObject
  const story = storyOf(
    header,
    synced(0),
    change('ADDED', 1, podObject('web', { ready: true })),
    change('ADDED', 6, early),
    {
      ...{ type: 'LOAD', at: time(5), seconds: 1, ...lost },
    },
  )
  t.match(blames(story), [
    { lost: 3, cut: 1, pod: { name: 'web' }, why: 'ended 200 ms before its endpoint was removed' },
  ])
  t.match(blames(story)[0]?.remedy, /preStop hook/)
})

t.test('what a pod lost is on its own row, in stretches', async (t) => {
  const load = (at: number, lost: number, cut = 0, target = 'pod/web'): RecordLine => ({
    ...{ type: 'LOAD', at: time(at), seconds: 0.2, target, namespace: 'default', answered: 9, lost, cut, slowestMs: 9 },
  })
  const story = storyOf(
    header,
    synced(0),
    change('ADDED', 1, podObject('web', { ready: true })),
    change('ADDED', 1, podObject('other', { ready: true })),
    ...[load(4, 1), load(4.2, 0), load(4.4, 2, 1), load(9, 1), load(9, 5, 0, 'pod/nobody')],
  )
  const runs = lossRuns(story)
  t.same([...runs.keys()], ['uid-web'])
  const [first, second] = runs.get('uid-web') ?? []
  t.match(
    [first, second],
    [
      { lost: 3, cut: 1, startMs: zeroMs + 4_000, endMs: zeroMs + 4_600 },
      { lost: 1, cut: 0 },
    ],
  )
  const replaced = podObject('web', { meta: { uid: 'uid-next' } })
  const after = storyOf(...[header, synced(0), change('ADDED', 1, podObject('web')), change('ADDED', 2, replaced)], {
    ...load(3, 2),
    uid: 'uid-web',
  } as RecordLine)
  t.same([...lossRuns(after).keys()], ['uid-web'], 'the pod that is meant, and not the next of the same name')
  const marks = allMarks(story.podNamed('default', 'web')!, runs.get('uid-web'))
  t.same(
    marks.map(({ kind, text }) => [kind, text]),
    [
      ['lost', '3 requests were lost, 1 was cut'],
      ['lost', '1 request was lost'],
    ],
  )
})

t.test('what Services lost at a pod is on its row, unless its clients told of it', async (t) => {
  const lostRequests = [
    { kind: 'refused', count: 3 },
    { kind: 'reset', count: 1 },
  ]
  const told = { ...termination, lostRequests }
  const pod = storyOf(header, synced(0), change('ADDED', 2, termination), change('MODIFIED', 3, told)).podNamed(
    'default',
    'web',
  )!
  const lost = allMarks(pod).filter(({ kind }) => kind === 'lost')
  t.same(
    lost.map(({ text }) => text),
    ['4 requests were lost: 3 refused, 1 reset'],
  )
  const seen = allMarks(pod, [{ startMs: zeroMs, endMs: zeroMs, lost: 4, cut: 0 }])
  t.same(seen.filter(({ kind }) => kind === 'lost').length, 1)
})

t.test('an eviction that is cancelled, refused or only tried is no eviction', async (t) => {
  const condition = (status: string) => ({
    conditions: [{ type: 'DisruptionTarget', status, reason: 'PreemptionByScheduler', message: 'm' }],
  })
  const event = (message: string) =>
    objectOf('v1', 'Event', message, {
      ...{ involvedObject: { kind: 'Pod', uid: 'uid-web' }, reason: 'TaintManagerEviction', message, type: 'Normal' },
      metadata: { name: message, uid: message },
    })
  const evict = (at: number, code: number): RecordLine => ({
    ...{ type: 'REQUEST', at: time(at), verb: 'create', user: 'jane', path: '/x', resource: 'pods', code },
    ...{ subresource: 'eviction', namespace: 'default', name: 'web', durationMs: 1 },
  })
  const kinds = (...lines: RecordLine[]): string[] =>
    storyOf(header, synced(0), change('ADDED', 1, podObject('web')), ...lines)
      .podNamed('default', 'web')!
      .marks.map(({ kind }) => kind)
  const [marking, cancelling] = ['Marking for deletion Pod default/web', 'Cancelling deletion of Pod default/web']
  t.same(kinds(change('ADDED', 2, event(cancelling))), ['cancelled'])
  t.same(kinds(change('ADDED', 2, event(marking)), change('ADDED', 3, event(cancelling))), ['cancelled', 'cancelled'])
  const statuses = ['True', 'False', 'False'].map((status, index) =>
    change('MODIFIED', 2 + index, podObject('web', { status: condition(status) })),
  )
  t.same(kinds(...statuses), ['cancelled'], 'a condition that turned to False')
  t.same(kinds(evict(2, 429)), [], 'refused')
  t.same(kinds(evict(2, 201)), [], 'a dry run, after which the pod goes on')
  t.same(kinds(evict(2, 201), change('MODIFIED', 3, podObject('web', { meta: deleted }))), ['eviction'])
  t.same(kinds(change('MODIFIED', 2, podObject('web', { meta: deleted })), evict(2.1, 201)), ['eviction'])
})

t.test('a container that is not started for now: back-off, not running', async (t) => {
  const waiting = (reason: string, lastState = {}) => ({
    containerStatuses: [{ name: 'main', restartCount: 0, state: { waiting: { reason } }, lastState }],
  })
  const story = storyOf(
    header,
    synced(0),
    change('ADDED', 1, podObject('web', { status: waiting('ContainerCreating') })),
    change('MODIFIED', 2, podObject('web', { status: waiting('CrashLoopBackOff', { terminated: { exitCode: 3 } }) })),
    change('ADDED', 1, podObject('image', { phase: 'Pending', status: waiting('ImagePullBackOff') })),
  )
  t.same(phasesOf(story, 'web'), [
    ['Running', 1, 2],
    ['BackOff', 2, Number.NaN],
  ])
  t.match(phasesOf(story, 'image'), [['BackOff', 1]])
  const phase = (restartPolicy: string, exitCode: number, list = 'containerStatuses') => {
    const status = { [list]: [{ name: 'main', restartCount: 0, state: { terminated: { exitCode } } }] }
    return phaseOf({ ...podObject('x', { status }), spec: { restartPolicy } } as RecordedObject)
  }
  t.same([phase('Always', 3), phase('Always', 0), phase('OnFailure', 3)], ['BackOff', 'BackOff', 'BackOff'])
  t.same([phase('Never', 3), phase('OnFailure', 0)], ['Running', 'Running'], 'these are not started again')
  t.same(
    [phase('Always', 0, 'initContainerStatuses'), phase('Always', 1, 'initContainerStatuses')],
    ['Running', 'BackOff'],
  )
  t.match(endingOf(story.podNamed('default', 'web')!), { text: 'CrashLoopBackOff · exit code 3', isBad: true })
})

t.test('how a pod ended, in a few words', async (t) => {
  const ended = (verdictType: string, exitCode: number, name = 'web') => {
    const [container] = termination.containers as Fields[]
    return { ...termination, containers: [{ ...container, verdictType, exitCode }], verdictType, podName: name }
  }
  const gone = (record?: object, status: Fields = {}) => {
    const pod = podObject('web', { phase: 'Failed', status })
    const lines = [change('ADDED', 1, podObject('web')), change('DELETED', 6, pod)]
    return storyOf(
      header,
      synced(0),
      ...lines,
      ...(record ? [change('ADDED', 7, record as RecordedObject)] : []),
    ).podNamed('default', 'web')!
  }
  const of = (...given: Parameters<typeof gone>) => endingOf(gone(...given))
  t.same(of(ended('IgnoredSignal', 137)), { text: '137 · ignored TERM · 1.1 s', isBad: true })
  t.same(of(ended('Stopped', 0)), { text: '0 · stopped · 1.1 s', isBad: false })
  t.same(of(ended('SomethingNew', 1)), { text: '1 · something new · 1.1 s', isBad: true }, 'a type of a later version')
  const terminated = { exitCode: 137, reason: 'OOMKilled' }
  const statuses = { containerStatuses: [{ name: 'main', state: { terminated } }] }
  t.same(of(undefined, statuses), { text: '137 · OOMKilled', isBad: true })
  t.same(of(), { text: 'end not recorded', isBad: false })
  t.equal(
    endingOf(storyOf(header, synced(0), change('ADDED', 1, podObject('web'))).podNamed('default', 'web')!),
    undefined,
  )
  const pod = gone(ended('IgnoredSignal', 137))
  for (const text of ['137', 'ignored TERM', 'update', 'SIGTERM web', 'IgnoredSignal']) t.ok(podFilter(text)(pod), text)
  for (const text of ['13', 'ignored NOTHING', 'oom']) t.notOk(podFilter(text)(pod), text)
})

t.test('the whole: ends before the record began are in it, or have no row', async (t) => {
  const ended = (name: string, at: number) =>
    change('ADDED', 0, {
      ...termination,
      metadata: { name, namespace: 'default', uid: `t-${name}` },
      ...{
        podName: name,
        podUID: `uid-${name}`,
        workload: 'Deployment/web',
        startTime: time(at),
        endTime: time(at + 1),
      },
    } as unknown as RecordedObject)
  const story = storyOf(
    header,
    ended('lately', -300),
    ended('long-ago', -3_600),
    synced(0.1),
    change('ADDED', 1, podObject('web')),
  )
  t.equal(seconds(wholeOf(story).fromMs), -300)
  t.same(
    rowsOf(story, 'workload').map(({ label }) => label),
    ['default: Deployment/web · 1', 'lately', 'default: pods without a workload · 1', 'web'],
  )
})

t.test('durations', async (t) => {
  const given = [0, 999.6, 1_200, 9_996, 59_960, 119_600, -117_000, 7_260_000]
  t.same(given.map(words), ['0 ms', '1.00 s', '1.20 s', '10.0 s', '1 min 0 s', '2 min 0 s', '−1 min 57 s', '2 h 1 min'])
  t.same([-117_000, 1_200].map(offset), ['−1 min 57 s', '+1.20 s'])
})

t.test('a filter by labels, or by text', async (t) => {
  const story = storyOf(header, synced(0), change('ADDED', 1, podObject('web', { meta: { labels: { app: 'web' } } })))
  const pod = story.podNamed('default', 'web')!
  const matching = ['app=web', 'app in (web)', '!canary', 'WE', 'node-1', ''].filter((text) => podFilter(text)(pod))
  t.equal(matching.length, 6)
  t.notOk(podFilter('app=db')(pod))
  t.notOk(podFilter('app in (web')(pod), 'a selector that is not whole is searched as text')
})

t.test('bad input: any shape, any length', async (t) => {
  const story = storyOf(header, synced(0))
  for (const object of [null, 7, {}, { metadata: 3 }, { kind: 'Pod', metadata: { uid: 'x', name: 'y'.repeat(1e6) } }])
    for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const)
      story.add({ type, at: time(1), object } as unknown as RecordLine)
  for (const kind of ['Node', 'Event', 'Termination', 'EndpointSlice', 'Deployment'])
    story.add(
      change('ADDED', 2, objectOf('v1', kind, 'n', { metadata: { uid: kind, name: 4, labels: 'x' }, status: [] })),
    )
  story.add({ type: 'SURPRISE', at: time(3) } as unknown as RecordLine)
  story.add({ type: 'GAP', at: 'never', message: '' })
  t.equal(story.pods.get('x')?.name.length, '… (1000000 characters)'.length + 300)
  story.add(change('ADDED', 4, podObject('evil', { meta: { name: 'a\u202eb\u0000c', uid: 'uid-evil' } })))
  t.equal(story.pods.get('uid-evil')?.name, 'a\ufffdb\ufffdc', 'no character that turns others around')
  t.equal(storyOf({ ...header, version: 2 } as RecordLine).problem.includes('version 2'), true)
})

t.test('bounded: the pods that are gone are forgotten first', async (t) => {
  const story = storyOf(header, synced(0), change('ADDED', 1, podObject('kept')))
  for (let index = 0; index < limits.pods + 5; index++) {
    const object = podObject(`p${index}`)
    story.add(change('ADDED', 2, object))
    story.add(change('DELETED', 3, object))
  }
  t.equal(story.pods.size, limits.pods)
  t.ok(story.podNamed('default', 'kept'))
})
