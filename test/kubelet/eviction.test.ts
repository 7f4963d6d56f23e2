/** Pods that go for the node's sake: which, when, why, and what is said of it. */
import t from 'tap'
import { admitUnderPressure } from '../../kubelet/eviction/admission.ts'
import { exceededLocalLimit, hasLocalLimits } from '../../kubelet/eviction/local-storage.ts'
import { evictionMessage } from '../../kubelet/eviction/message.ts'
import { evictionConfig, evictionOptions } from '../../kubelet/eviction/options.ts'
import type { PodUsage } from '../../kubelet/eviction/pod-usage.ts'
import { nextPressure, noPressure } from '../../kubelet/eviction/pressure-state.ts'
import { rankForEviction } from '../../kubelet/eviction/rank.ts'
import type { Observations, StarvedResource } from '../../kubelet/eviction/signals.ts'
import { parseThresholds, type ThresholdSettings } from '../../kubelet/eviction/thresholds.ts'
import type { Behaviour } from '../../kubelet/runtime/simulated.ts'
import type { Event, Node, Pod } from '../../shared/api/types.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { machine } from './machine.ts'

const Mi = 1024 ** 2
const nowhere = { hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {} }
const thresholds = (settings: Partial<ThresholdSettings>) => parseThresholds({ ...nowhere, ...settings })
const memory = (available: number): Observations => ({
  'memory.available': { available: available * Mi, capacity: 1000 * Mi },
})
const podOf = (name: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace: 'ns', uid: name },
  spec: { containers: [{ name: 'c' }], ...spec },
})
const asking = (request: string): Partial<Pod['spec']> => ({
  containers: [{ name: 'c', resources: { requests: { memory: request, 'ephemeral-storage': request } } }],
})
const using = (memoryBytes: number, more: Partial<PodUsage['containers'][number]> = {}): PodUsage => ({
  containers: [
    {
      podUid: 'p',
      containerId: 'c',
      name: 'c',
      memoryBytes,
      cpuSeconds: 0,
      processes: 1,
      diskBytes: 0,
      inodes: 0,
      ...more,
    },
  ],
  volumes: new Map(),
})

t.test('thresholds: hard ones at once, soft ones when it lasts, until enough is reclaimed', async (t) => {
  const all = thresholds({
    hard: { 'memory.available': '100Mi' },
    soft: { 'memory.available': '20%' },
    softGraceMs: { 'memory.available': 30_000 },
    minimumReclaim: { 'memory.available': '50Mi' },
  })
  let state = noPressure
  const look = (nowMs: number, available: number) => {
    const next = nextPressure(state, { thresholds: all, observations: memory(available), nowMs, transitionMs: 60_000 })
    state = next.state
    return [state.pressure.memory, next.due.map(({ isHard }) => (isHard ? 'hard' : 'soft')).join()]
  }
  t.same(look(0, 500), [false, ''])
  t.same(look(10_000, 150), [true, ''], 'below the soft one')
  t.same(look(30_000, 150), [true, ''])
  t.same(look(40_000, 150), [true, 'soft'])
  t.same(look(50_000, 90), [true, 'hard,soft'])
  t.same(look(60_000, 140), [true, 'soft,hard'], 'above 100Mi, but not by 50Mi')
  t.same(look(70_000, 210), [true, 'soft'], 'the soft one wants 250Mi')
  t.same(look(80_000, 300), [true, ''], 'nothing to do, but the condition stays a while')
  t.same(look(129_999, 300), [true, ''])
  t.same(look(130_000, 300), [false, ''])
})

t.test('memory is reclaimed first; what is not observed is not met', async (t) => {
  const all = thresholds({ hard: { 'nodefs.available': '10%', 'memory.available': '100Mi', 'pid.available': '5%' } })
  const observations = { 'nodefs.available': { available: 9, capacity: 100 }, ...memory(10) }
  const { due, state } = nextPressure(noPressure, { thresholds: all, observations, nowMs: 0, transitionMs: 0 })
  t.same(
    due.map(({ signal }) => signal),
    ['memory.available', 'nodefs.available'],
  )
  t.same(state.pressure, { memory: true, disk: true, pid: false })
})

t.test('the order of evictions', async (t) => {
  const usage: Record<string, PodUsage> = {
    within: using(50),
    over: using(150),
    'over-more': using(400),
    'over-important': using(900),
    none: { containers: [], volumes: new Map([['v', { bytes: 70, inodes: 3 }]]) },
  }
  const pods = [
    podOf('within', asking('100')),
    podOf('over-important', { ...asking('100'), priority: 10 }),
    podOf('over', asking('100')),
    podOf('none'),
    podOf('over-more', asking('100')),
  ]
  const order = (resource: StarvedResource) =>
    rankForEviction(pods, resource, ({ metadata }) => usage[metadata.name!]!).map(({ metadata }) => metadata.name)
  t.same(order('memory'), ['over-more', 'over', 'over-important', 'none', 'within'])
  t.equal(order('ephemeral-storage')[0], 'none', 'its volume counts')
  t.equal(order('inodes')[0], 'none')
  t.same(order('pids').slice(-2), ['none', 'over-important'])
})

t.test('the words of an eviction', async (t) => {
  const pod = podOf('p', {
    containers: [{ name: 'c', resources: { requests: { memory: '100Mi' } } }, { name: 'free' }, { name: 'modest' }],
    initContainers: [{ name: 'over-and-done' }],
  })
  const { containers } = using(200 * Mi)
  const usage = {
    containers: [
      ...containers,
      { ...containers[0]!, name: 'free', memoryBytes: 1_406_275_584 },
      { ...containers[0]!, name: 'modest', memoryBytes: 0 },
    ],
    volumes: new Map(),
  }
  const [hard] = thresholds({ hard: { 'memory.available': '0.1Gi' } })
  const [share] = thresholds({ hard: { 'memory.available': '25%' } })
  const said = evictionMessage(pod, usage, { threshold: hard!, observations: memory(52) })
  t.equal(
    said.message,
    'The node was low on resource: memory. Threshold quantity: 107374182400m, available: 52Mi. ' +
      'Container c was using 200Mi, request is 100Mi, has larger consumption of memory. ' +
      'Container free was using 1373316Ki, request is 0, has larger consumption of memory. ',
  )
  t.same(said.annotations, {
    offending_containers: 'c,free',
    offending_containers_usage: '200Mi,1373316Ki',
    starved_resource: 'memory',
  })
  t.match(
    evictionMessage(pod, usage, { threshold: share!, observations: memory(52) }).message,
    /quantity: 250Mi, available/,
  )
  const [inodes] = thresholds({ hard: { 'nodefs.inodesFree': '5%' } })
  const observations = { 'nodefs.inodesFree': { available: 2_000, capacity: 100_000 } }
  t.equal(
    evictionMessage(pod, usage, { threshold: inodes!, observations }).message,
    'The node was low on resource: inodes. Threshold quantity: 5k, available: 2k. ',
  )
})

t.test('limits of local storage', async (t) => {
  const volumes = [
    { name: 'd', emptyDir: { sizeLimit: '2Mi' } },
    { name: 'free', emptyDir: {} },
  ]
  const limited = (name: string, limit: string) => ({ name, resources: { limits: { 'ephemeral-storage': limit } } })
  const filled = (bytes: number) => new Map([['d', { bytes, inodes: 1 }]])
  const pod = podOf('p', { volumes })
  t.ok(hasLocalLimits(pod))
  t.notOk(hasLocalLimits(podOf('p', { volumes: [volumes[1]!] })))
  t.equal(exceededLocalLimit(pod, { containers: [], volumes: filled(2 * Mi) }), undefined)
  t.equal(
    exceededLocalLimit(pod, { containers: [], volumes: filled(2 * Mi + 1) })?.message,
    'Usage of EmptyDir volume "d" exceeds the limit "2Mi". ',
  )
  const two = podOf('p', { containers: [limited('c', '1Mi'), limited('other', '3Mi')] })
  t.equal(
    exceededLocalLimit(two, using(0, { diskBytes: 4 * Mi + 1 }))?.message,
    'Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. ',
  )
  t.equal(
    exceededLocalLimit(two, using(0, { diskBytes: 2 * Mi }))?.message,
    'Container c exceeded its local ephemeral storage limit "1Mi". ',
  )
  t.equal(exceededLocalLimit(two, using(0, { diskBytes: Mi })), undefined)
})

t.test('pods that are admitted under pressure', async (t) => {
  const calm = { memory: false, disk: false, pid: false }
  const bestEffort = { ...podOf('p'), status: { qosClass: 'BestEffort' } }
  const burstable = { ...podOf('p'), status: { qosClass: 'Burstable' } }
  t.equal(admitUnderPressure(bestEffort, calm), undefined)
  t.same(admitUnderPressure(bestEffort, { ...calm, memory: true }), {
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure]. ',
  })
  t.equal(admitUnderPressure(burstable, { ...calm, memory: true }), undefined)
  t.match(admitUnderPressure(burstable, { ...calm, memory: true, disk: true }), {
    message: /\[DiskPressure MemoryPressure\]/,
  })
  const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }]
  const tolerant = { ...bestEffort, spec: { ...bestEffort.spec, tolerations } }
  t.equal(admitUnderPressure(tolerant, { ...calm, memory: true }), undefined)
  t.ok(admitUnderPressure(tolerant, { ...calm, pid: true }))
  const critical = { ...bestEffort, spec: { ...bestEffort.spec, priority: 2_000_000_000 } }
  t.equal(admitUnderPressure(critical, { ...calm, disk: true }), undefined)
})

t.test('what can be configured', async (t) => {
  const read = async (...args: string[]) =>
    evictionConfig((await resolveOptions(evictionOptions, { args, env: {} })).values)
  const byDefault = await read()
  t.equal(byDefault.measured.size, 0, 'a full disk of a development machine is nobody’s business')
  t.ok(byDefault.thresholds.some(({ signal, isHard }) => signal === 'nodefs.available' && isHard))
  const given = await read('--eviction-hard=memory.available=1Gi', '--eviction-hard', 'nodefs.available=3%')
  t.same([...given.measured], ['memory.available', 'nodefs.available'])
  t.match(
    given.thresholds.filter(({ signal }) => signal === 'memory.available'),
    [{ amount: { text: '1Gi' } }],
    'evictionHard replaces the threshold of its signal',
  )
  const soft = ['--eviction-soft=memory.available=2Gi', '--eviction-soft-grace-period=memory.available=1m30s']
  t.match(
    (await read(...soft)).thresholds.at(-1),
    { isHard: false, graceMs: 90_000 },
    'evictionSoft and its grace period',
  )
  await t.rejects(read(soft[0]!), { message: /needs a grace period for memory.available/ })
  await t.rejects(read('--eviction-hard=memory=1Gi'), { message: /has no signal "memory"/ })
  await t.rejects(read('--eviction-hard=memory.available=much'), { message: /must be an amount such as 100Mi or 10%/ })
  await t.rejects(read('--eviction-hard=memory.available=101%'), { message: /must be an amount/ })
})

const plenty = { available: 800 * Mi, capacity: 1000 * Mi }
const settings = (values: object) => ({
  observe: async () => ({ 'memory.available': plenty, 'nodefs.available': plenty, 'pid.available': plenty }),
  eviction: evictionConfig({
    ...Object.fromEntries(Object.entries(evictionOptions).map(([name, { default: value }]) => [name, value])),
    evictionPressureTransitionPeriod: 60_000,
    ...values,
  } as never),
})
const hooked = (name = 'c') => ({ name, image: 'x', lifecycle: { preStop: { exec: { command: ['drain'] } } } })

t.test('pressure: one pod after the other, each told why', async (t) => {
  const use: Record<string, Behaviour> = {
    greedy: { usage: { memoryBytes: 300 * Mi } },
    small: { usage: { memoryBytes: Mi } },
  }
  const { clock, api, start, create, pod, events, hooks, signals, nodeCondition } = machine(
    t,
    ({ name }) => use[name] ?? {},
    settings({}),
  )
  const written: Event[] = []
  api.onWrite(({ plural, object }) => void (plural === 'events' && written.push(object as unknown as Event)))
  const kubelet = await start()
  await create('small', { containers: [hooked('small')] })
  await create('greedy', { containers: [hooked('greedy')] })
  await create('critical', { priority: 2_000_000_000 })
  await clock.advance(2_000)
  kubelet.eviction.induce('memory.available', { text: '52Mi' })
  await clock.advance(500)
  t.match(nodeCondition('MemoryPressure'), { status: 'True', reason: 'KubeletHasInsufficientMemory' })
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. Container greedy was using 300Mi, request is 0, has larger consumption of memory. '
  t.match(
    pod('greedy')?.status,
    {
      phase: 'Failed',
      reason: 'Evicted',
      message,
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }],
    },
    'the status tells of the eviction, with its message',
  )
  t.equal(pod('small')?.status?.phase, 'Running', 'one at a time')
  t.match(
    written.find(({ reason }) => reason === 'Evicted'),
    {
      type: 'Warning',
      message,
      metadata: { annotations: { offending_containers: 'greedy', starved_resource: 'memory' } },
    },
  )
  await create('late')
  await clock.advance(100)
  t.match(pod('late')?.status, {
    phase: 'Failed',
    reason: 'Evicted',
    message: /^Pod was rejected: The node had condition: \[Mem/,
  })
  await clock.advance(1_500)
  t.equal(pod('small')?.status?.reason, 'Evicted')
  await clock.advance(20_000)
  t.equal(pod('critical')?.status?.phase, 'Running', 'never')
  t.same(hooks, ['Eviction', 'Eviction'])
  t.same(signals, ['TERM', 'TERM'])
  t.ok(events.includes('EvictionThresholdMet'))
  kubelet.eviction.release('memory.available')
  await clock.advance(30_000)
  t.equal(nodeCondition('MemoryPressure')?.status, 'True', 'for a minute more')
  await clock.advance(45_000)
  t.equal(nodeCondition('MemoryPressure')?.status, 'False')
  await kubelet.close()
})

t.test('thresholds are shown as they are written', async (t) => {
  const { evictionSoftGracePeriod: grace, evictionSoft } = evictionOptions
  t.equal(grace.type.show?.(grace.type.fromText('memory.available=1m30s', undefined)), 'memory.available=90s')
  const soft = { 'memory.available': '1Gi', 'nodefs.available': '5%' }
  t.equal(evictionSoft.type.show?.(soft), 'memory.available=1Gi,nodefs.available=5%')
  t.equal(evictionSoft.type.show?.({}), undefined)
})

t.test('a soft threshold leaves time', async (t) => {
  const soft = {
    evictionSoft: { 'memory.available': '99%' },
    evictionSoftGracePeriod: { 'memory.available': 15_000 },
    evictionMaxPodGracePeriod: 5,
  }
  const { clock, start, create, pod, signals } = machine(t, { onTerm: 'ignore' }, settings(soft))
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  kubelet.eviction.induce('memory.available', { fraction: 0.5 })
  await clock.advance(14_000)
  t.same(signals, [])
  await clock.advance(10_000)
  t.same(signals, ['TERM'])
  await clock.advance(5_000)
  t.same(signals, ['TERM', 'KILL'])
  t.equal(pod()?.status?.reason, 'Evicted')
  await kubelet.close()
})

t.test('a hard one leaves a second for the hook, and two for the process', async (t) => {
  const { clock, start, create, pod, signals } = machine(t, { onTerm: 'ignore' }, settings({}))
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  kubelet.eviction.induce('pid.available')
  await clock.advance(1_900)
  t.same(signals, ['TERM'])
  await clock.advance(200)
  t.same(signals, ['TERM', 'KILL'])
  await clock.advance(500)
  t.match(
    pod()?.status?.message,
    /^The node was low on resource: pids\. Threshold quantity: 52428800, available: 26214400\. $/,
  )
  await kubelet.close()
})

t.test('a pod that ends well is no failure, even when it was evicted', async (t) => {
  const { clock, start, create, pod } = machine(t, { onTerm: { afterMs: 100, exitCode: 0 } }, settings({}))
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  kubelet.eviction.induce('nodefs.available')
  await clock.advance(3_000)
  t.match(pod()?.status, { phase: 'Succeeded', conditions: [{ type: 'DisruptionTarget' }] })
  t.equal(pod()?.status?.reason, undefined)
  await kubelet.close()
})

t.test('a pod that fills its volume', async (t) => {
  const usage = { diskBytes: 3 * Mi }
  const { clock, start, create, pod, api } = machine(t, { usage }, settings({}))
  const kubelet = await start()
  const containers = [{ ...hooked(), resources: { limits: { 'ephemeral-storage': '2Mi' } } }]
  await create('p', { containers })
  await create('modest')
  await clock.advance(12_000)
  t.match(pod()?.status, {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
  })
  t.notOk(pod()?.status?.conditions?.some(({ type }) => type === 'DisruptionTarget'))
  t.equal(pod('modest')?.status?.phase, 'Running')
  t.equal(
    api.object<Node>('nodes', 'n1')?.status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status,
    'False',
  )
  await kubelet.close()
})
