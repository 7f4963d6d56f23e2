/** The pure core: what a pod needs, how long it gets, what its status says. */
import t from 'tap'
import { createRestartBackoff } from '../../kubelet/containers/restart-backoff.ts'
import { containerGraceSeconds, effectiveGraceSeconds } from '../../kubelet/ending/grace-period.ts'
import { nextWork, type PodWork } from '../../kubelet/ending/pod-state-machine.ts'
import { deliverReason, terminationReason } from '../../kubelet/ending/termination-reason.ts'
import { giveBackMemory } from '../../kubelet/give-back-memory.ts'
import { among, Expander, expand, PROGRAM_BYTES, WORD_BYTES } from '../../kubelet/pod/expansion.ts'
import { goDuration } from '../../kubelet/pod/go-duration.ts'
import { restartsAfter } from '../../kubelet/pod/restart-policy.ts'
import { computePodActions } from '../../kubelet/pods/pod-actions.ts'
import type { ContainerRecord } from '../../kubelet/runtime/container-runtime.ts'
import type { RuntimePod } from '../../kubelet/runtime/runtime-pod.ts'
import { qualifiedImage } from '../../kubelet/status/container-statuses.ts'
import { isLegalTransition, mergeStatus, statusPatch } from '../../kubelet/status/status-merge.ts'
import { goDurationMs } from '../../shared/api/quantities/go-duration-ms.ts'
import type { Container, Pod, PodSpec, PodStatus, PreStopHandler } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

const pod = (spec: Partial<PodSpec>, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u', ...metadata },
  spec: { containers: [{ name: 'c', image: 'img' }], restartPolicy: 'Always', ...spec },
})
const record = (name: string, more: Partial<ContainerRecord> = {}): ContainerRecord => ({
  id: `${name}-id`,
  sandboxId: 's',
  podUid: 'u',
  name,
  attempt: 0,
  image: 'img',
  imageId: '',
  logPath: '',
  state: 'running',
  pid: 1,
  createdAtMs: 0,
  startedAtMs: 0,
  annotations: {},
  ...more,
})
const exited = (name: string, exitCode: number): ContainerRecord => record(name, { state: 'exited', exitCode })
const runtime = (...containers: ContainerRecord[]): RuntimePod => ({
  sandboxes: [
    {
      id: 's',
      podUid: 'u',
      namespace: 'ns',
      name: 'p',
      hostNetwork: false,
      hostname: 'p',
      shareProcessNamespace: false,
      annotations: {},
      ip: '127.64.0.1',
      state: 'ready',
      createdAtMs: 0,
    },
  ],
  containers,
})
const noProbes = { livenessFailed: () => false, startup: () => 'unknown' as const }
const names = (containers: Container[]) => containers.map(({ name }) => name)

t.test('grace of a terminating pod', async (t) => {
  const cases: [Parameters<typeof effectiveGraceSeconds>[0], number, string][] = [
    [{ stored: 0, deletionGracePeriodSeconds: 30, terminationGracePeriodSeconds: 30 }, 30, 'plain delete'],
    [{ stored: 0, deletionGracePeriodSeconds: 5, terminationGracePeriodSeconds: 30 }, 5, 'shorter delete'],
    [{ stored: 0, deletionGracePeriodSeconds: 0, terminationGracePeriodSeconds: 30 }, 1, 'force delete'],
    [{ stored: 0, override: 1, terminationGracePeriodSeconds: 30 }, 1, 'hard eviction'],
    [{ stored: 0, override: 0, terminationGracePeriodSeconds: 30 }, 1, 'soft eviction without a limit'],
    [{ stored: 0, terminationGracePeriodSeconds: 30 }, 30, 'ended by itself'],
    [{ stored: 0 }, 1, 'no grace in the spec'],
    [{ stored: 20, deletionGracePeriodSeconds: 30, terminationGracePeriodSeconds: 30 }, 20, 'never grows'],
    [{ stored: 20, deletionGracePeriodSeconds: 3, terminationGracePeriodSeconds: 30 }, 3, 'shrinks'],
  ]
  for (const [input, expected, name] of cases) t.equal(effectiveGraceSeconds(input), expected, name)
})

t.test('what a pod whose sandbox was lost starts again, as upstream decides it', async (t) => {
  const lost = (...containers: ContainerRecord[]): RuntimePod => {
    const { sandboxes } = runtime()
    return { sandboxes: sandboxes.map((sandbox) => ({ ...sandbox, state: 'notReady' })), containers }
  }
  const spec = (restartPolicy: string, policy?: string): Partial<PodSpec> => ({
    restartPolicy: restartPolicy as PodSpec['restartPolicy'],
    containers: [
      { name: 'ok', image: 'img', ...(policy && { restartPolicy: policy as Container['restartPolicy'] }) },
      { name: 'lost', image: 'img' },
    ],
  })
  const records = [exited('ok', 0), exited('lost', 255)]
  const always = { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [0] } }] }
  const cases: [string, Partial<PodSpec>, ContainerRecord[], boolean, string[]][] = [
    ['Always', spec('Always'), records, true, ['ok', 'lost']],
    ['OnFailure: what succeeded stays', spec('OnFailure'), records, true, ['lost']],
    ['Never: the pod ends', spec('Never'), records, false, []],
    ['Never, before anything ran', spec('Never'), [], true, ['ok', 'lost']],
    ['OnFailure of the container', spec('Always', 'OnFailure'), records, true, ['lost']],
    ['Always of the container', spec('OnFailure', 'Always'), records, true, ['ok', 'lost']],
    ['Never of the container is not asked', spec('Always', 'Never'), records, true, ['ok', 'lost']],
    ['nothing is left to do', spec('OnFailure'), [exited('ok', 0), exited('lost', 0)], false, []],
  ]
  for (const [name, podSpec, containers, createSandbox, start] of cases) {
    const actions = computePodActions(pod(podSpec), lost(...containers), noProbes)
    t.match({ ...actions, start: names(actions.containersToStart) }, { killPod: true, createSandbox, start }, name)
    t.equal(actions.containersToStart.length, start.length, name)
  }
  const ruled = pod({
    restartPolicy: 'OnFailure',
    containers: [{ name: 'ok', ...always } as Container, { name: 'lost' }],
  })
  const byRule = computePodActions(ruled, lost(...records), noProbes)
  t.same(names(byRule.containersToStart), ['lost'], 'a rule of the container is not asked')
  const initContainers = [{ name: 'i' }, { name: 's', restartPolicy: 'Always' as const }]
  const withInit = computePodActions(
    pod({ ...spec('Always'), initContainers }),
    lost(exited('i', 0), exited('s', 255), ...records),
    noProbes,
  )
  t.same([names(withInit.initContainersToStart), names(withInit.containersToStart)], [['i'], []])
})

t.test("a probe's own grace", async (t) => {
  const container: Container = { name: 'c', livenessProbe: { terminationGracePeriodSeconds: 60 }, startupProbe: {} }
  const living = pod({ terminationGracePeriodSeconds: 30 })
  t.equal(containerGraceSeconds(living, container, 'LivenessProbe'), 60, 'may be longer than the pod has')
  t.equal(containerGraceSeconds(living, container, 'StartupProbe'), 30, 'none of its own: the pod')
  t.equal(containerGraceSeconds(living, container, 'Unknown'), 30, 'not for other kills')
  const dying = pod({ terminationGracePeriodSeconds: 30 }, { deletionGracePeriodSeconds: 7 })
  t.equal(containerGraceSeconds(dying, container, 'LivenessProbe'), 7, 'a deletion beats it')
  t.equal(containerGraceSeconds(pod({}), container, 'Unknown'), 2, 'nothing set')
})

t.test('restart policy', async (t) => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }]
  const container: Container = { name: 'c', restartPolicy: 'Never', restartPolicyRules: rules }
  t.equal(restartsAfter(pod({}).spec, container, 42), true, 'a rule beats the policy')
  t.equal(restartsAfter(pod({}).spec, container, 1), false, "the container's own policy beats the pod's")
  t.equal(restartsAfter(pod({ restartPolicy: 'OnFailure' }).spec, { name: 'c' }, 0), false)
  t.equal(restartsAfter(pod({ restartPolicy: 'OnFailure' }).spec, { name: 'c' }, 3), true)
})

t.test('restart back-off: at once, then 10 s doubling to 300 s', async (t) => {
  const backoff = createRestartBackoff()
  let now = 0
  const waits: number[] = []
  for (let crash = 0; crash < 8; crash++) {
    const until = backoff.waitUntil('k', now) ?? now
    waits.push((until - now) / 1000)
    now = until
    backoff.next('k', now, now)
  }
  t.same(waits, [0, 10, 20, 40, 80, 160, 300, 300], 'at once, then 10 s doubling to 300 s')
  t.equal(backoff.waitUntil('k', now + 600_001), undefined, 'forgotten after ten quiet minutes')
})

t.test('what a pod needs', async (t) => {
  const fresh = computePodActions(pod({}), { sandboxes: [], containers: [] }, noProbes)
  t.match({ ...fresh, start: names(fresh.containersToStart) }, { createSandbox: true, start: ['c'] })

  const withInit = pod({ initContainers: [{ name: 'i1' }, { name: 'i2' }] })
  const init = (...records: ContainerRecord[]) => computePodActions(withInit, runtime(...records), noProbes)
  t.same(names(init().initContainersToStart), ['i1'])
  t.same(names(init(record('i1')).initContainersToStart), [], 'wait for it')
  t.same(names(init(exited('i1', 0)).initContainersToStart), ['i2'])
  t.same(names(init(exited('i1', 1)).initContainersToStart), ['i1'], 'tried again')
  t.same(names(init(exited('i2', 0), exited('i1', 0)).containersToStart), ['c'])
  const never = { ...withInit, spec: { ...withInit.spec, restartPolicy: 'Never' } }
  t.equal(computePodActions(never, runtime(exited('i1', 1)), noProbes).killPod, true, 'failed for good')

  const done = pod({ restartPolicy: 'Never', initContainers: [{ name: 's', image: 'img', restartPolicy: 'Always' }] })
  const over = computePodActions(done, runtime(exited('c', 0), record('s')), noProbes)
  t.match(over, { killPod: true, createSandbox: false }, 'a sidecar does not keep a pod alive')

  const failed = { ...noProbes, livenessFailed: () => true }
  const sick = computePodActions(pod({}), runtime(record('c')), failed)
  t.equal(sick.containersToKill[0]?.message, 'Container c failed liveness probe, will be restarted')
  t.same(names(sick.containersToStart), ['c'])
  const lone = computePodActions(pod({ restartPolicy: 'Never' }), runtime(record('c')), failed)
  t.match(lone, { killPod: true, containersToKill: [] }, 'nothing to keep: the whole pod goes')
})

t.test('sidecars hold back what comes after them until they have started', async (t) => {
  const sidecar: Container = { name: 's', image: 'img', restartPolicy: 'Always', startupProbe: {} }
  const subject = pod({ initContainers: [sidecar] })
  const act = (startup: 'success' | 'failure' | 'unknown') =>
    computePodActions(subject, runtime(record('s')), { livenessFailed: () => false, startup: () => startup })
  t.same(names(act('unknown').containersToStart), [])
  t.same(names(act('success').containersToStart), ['c'])
  t.equal(act('failure').containersToKill[0]?.message, 'Init container s failed startup probe')
})

t.test("a pod's way is one way", async (t) => {
  const living = pod({ terminationGracePeriodSeconds: 30 })
  const dying = pod({ terminationGracePeriodSeconds: 30 }, { deletionTimestamp: 'x', deletionGracePeriodSeconds: 20 })
  const begin = nextWork(undefined, { type: 'config', pod: living, running: false })
  t.equal(begin.phase, 'sync')
  const ending = nextWork(begin, { type: 'config', pod: dying, running: true })
  t.match(ending, { phase: 'terminating', graceSeconds: 20 })
  const back: PodWork = nextWork(ending, { type: 'config', pod: living, running: true })
  t.match(back, { phase: 'terminating', graceSeconds: 20 }, 'never back, never longer')
  const killed = nextWork(begin, { type: 'kill', pod: living, options: { graceSeconds: 5, cause: 'Evicted' } })
  t.match(killed, { phase: 'terminating', graceSeconds: 5, cause: 'Evicted' })
  const finished = nextWork(nextWork(ending, { type: 'stopped' }), { type: 'cleaned' })
  t.equal(nextWork(finished, { type: 'config', pod: dying, running: false }).phase, 'finished')
  const completed = { ...living, status: { phase: 'Succeeded' } }
  t.equal(nextWork(undefined, { type: 'config', pod: completed, running: false }).phase, 'terminated', 'found finished')
  t.equal(nextWork(undefined, { type: 'config', pod: completed, running: true }).phase, 'terminating')
})

t.test('termination reason', async (t) => {
  t.equal(terminationReason(pod({}, { reason: 'Update' }), 'Evicted'), 'Update', 'what is written wins')
  for (const cause of ['Evicted', 'NodeShutdown', 'Preempted'] as const) {
    t.equal(terminationReason(pod({}), cause), 'Eviction', cause)
  }
  t.equal(terminationReason(pod({})), undefined)
  const annotations = { 'kubestage.dev/termination-reason': 'the rack moves' }
  t.equal(terminationReason(pod({}, { annotations }), 'Evicted'), 'the rack moves')
  t.equal(terminationReason(pod({}, { annotations, reason: 'Update' }), 'Evicted'), 'Update')
  t.equal(terminationReason(pod({}, { annotations })), undefined, 'neither deleted nor evicted')
  const deletionTimestamp = 'x'
  t.equal(
    terminationReason(pod({}, { annotations, deletionTimestamp })),
    'the rack moves',
    'the API server has no reasons',
  )
  const disrupted = (reason: string, status = 'True') => ({
    ...pod({}, { deletionTimestamp }),
    status: { phase: 'Running', conditions: [{ type: 'DisruptionTarget', status, reason }] },
  })
  t.equal(terminationReason(disrupted('EvictionByEvictionAPI')), 'Eviction')
  t.equal(terminationReason(disrupted('PreemptionByScheduler')), 'Eviction')
  t.equal(terminationReason(disrupted('DeletionByTaintManager')), 'IntolerableTaint')
  t.equal(terminationReason(disrupted('DeletionByPodGC')), undefined)
  t.equal(terminationReason(disrupted('EvictionByEvictionAPI', 'False')), undefined)
  t.equal(terminationReason({ ...disrupted('EvictionByEvictionAPI'), metadata: { name: 'p' } }), undefined, 'lives on')
  const exec = { exec: { command: ['x'] } }
  const get = { httpGet: { port: 80 } }
  t.same(deliverReason(exec, undefined), { handler: exec, env: {}, headers: {} }, 'absent, not empty')
  t.same(deliverReason(exec, 'a').env, { KUBE_POD_TERM_REASON: 'a' })
  t.same(deliverReason({ ...exec, reasonDelivery: { env: 'WHY' } }, 'a').env, { WHY: 'a' })
  t.same(deliverReason(get, 'a').headers, { 'KUBE-POD-TERM-REASON': 'a' })
  t.same(deliverReason({ ...get, reasonDelivery: { header: 'X-Why' } }, 'a').headers, { 'X-Why': 'a' })
})

t.test('a malformed delivery: the name that fits the action, else the default, and always an error', async (t) => {
  const exec = { exec: { command: ['x'] } }
  const get = { httpGet: { port: 80 } }
  const cases: [hook: PreStopHandler, told: object][] = [
    [{ ...exec, reasonDelivery: {} }, { KUBE_POD_TERM_REASON: 'a' }],
    [{ ...exec, reasonDelivery: { header: 'X' } }, { KUBE_POD_TERM_REASON: 'a' }],
    [{ ...exec, reasonDelivery: { env: '' } }, { KUBE_POD_TERM_REASON: 'a' }],
    [{ ...exec, reasonDelivery: { env: 'A=B' } }, { KUBE_POD_TERM_REASON: 'a' }],
    [{ ...exec, reasonDelivery: { env: 'A', header: 'X' } }, { A: 'a' }],
    [{ ...exec, reasonDelivery: { env: 'A', header: '' } }, { A: 'a' }],
    [{ ...exec, reasonDelivery: JSON.parse('{"env":null}') }, { KUBE_POD_TERM_REASON: 'a' }],
    [{ ...get, reasonDelivery: {} }, { 'KUBE-POD-TERM-REASON': 'a' }],
    [{ ...get, reasonDelivery: { env: 'A' } }, { 'KUBE-POD-TERM-REASON': 'a' }],
    [{ ...get, reasonDelivery: { header: '' } }, { 'KUBE-POD-TERM-REASON': 'a' }],
    [{ ...get, reasonDelivery: { header: 'Content-Length' } }, { 'KUBE-POD-TERM-REASON': 'a' }],
    [{ ...get, reasonDelivery: { env: 'A', header: 'X' } }, { X: 'a' }],
  ]
  for (const [hook, told] of cases) {
    const { env, headers, problem } = deliverReason(hook, 'a')
    const what = JSON.stringify(hook)
    t.same(hook.exec ? env : headers, told, what)
    t.same(hook.exec ? headers : env, {}, what)
    t.match(problem, `the reason is delivered as ${Object.keys(told)[0]}`, what)
    t.same(deliverReason(hook, undefined), { handler: hook, env: {}, headers: {} }, 'no reason, no complaint')
  }
})

t.test('the reason as a flag: only its own variable is expanded', async (t) => {
  const run = (word: string, reason?: string, env?: string) =>
    deliverReason({ exec: { command: [word] }, ...(env && { reasonDelivery: { env } }) }, reason).handler.exec?.command
  const named = '--reason=$(KUBE_POD_TERM_REASON)'
  t.same(run(named, "it's $& $(date)"), ["--reason=it's $& $(date)"], 'the text of the reason means nothing')
  t.same(run(named), [named], 'no reason, no change')
  t.same(run(named, 'a', 'WHY'), [named], 'another variable carries it')
  t.same(run('$(WHY)$(WHY)', 'a', 'WHY'), ['aa'])
  for (const word of ['$$ $(date)', '$$(WHY)', '$(why)', '$(WHY', '$WHY']) t.same(run(word, 'a', 'WHY'), [word])
  t.same(run('pid=$$ $$$(WHY) $(date)', 'a', 'WHY'), ['pid=$$ $$a $(date)'])
})

t.test('status on its way to the API', async (t) => {
  const condition = (type: string, status: string) => ({ type, status })
  const own: PodStatus = {
    phase: 'Failed',
    reason: 'Evicted',
    conditions: [condition('Ready', 'False'), condition('DisruptionTarget', 'True')],
  }
  const api: PodStatus = {
    phase: 'Running',
    conditions: [condition('example.com/gate', 'True'), condition('Ready', 'True')],
  }
  const withheld = mergeStatus(api, own, true)
  t.match(withheld, { phase: 'Running', reason: undefined })
  t.same(
    withheld.conditions?.map(({ type }) => type),
    ['example.com/gate', 'Ready'],
    'others kept, DisruptionTarget not yet',
  )
  const told = mergeStatus(api, own, false)
  t.match(told, { phase: 'Failed', reason: 'Evicted' })
  t.same(
    told.conditions?.map(({ type }) => type),
    ['example.com/gate', 'DisruptionTarget', 'Ready'],
  )
  t.equal(statusPatch(told, told), undefined, 'nothing to write')
  const nothing = { containerStatuses: [{ name: 'c', lastState: {}, state: undefined }], hostIPs: [] }
  const none = { containerStatuses: [{ name: 'c' }], hostIPs: [] }
  t.equal(statusPatch(nothing as never, none as never), undefined, 'an empty object is nothing')
  t.equal(statusPatch(none as never, nothing as never), undefined)
  t.same(statusPatch({ hostIPs: [] }, { hostIPs: [{ ip: '::1' }] }), { hostIPs: [{ ip: '::1' }] }, 'a longer list')
  t.same(statusPatch({ hostIPs: [{ ip: '::1' }] }, { hostIPs: [{ ip: '::2' }] }), { hostIPs: [{ ip: '::2' }] })
  t.same(statusPatch({ resources: { requests: { cpu: '1' } } }, { resources: {} }), { resources: {} }, 'one key less')
  t.same(statusPatch({ phase: 'Failed', reason: 'x', nominatedNodeName: 'n' }, { phase: 'Failed' }), { reason: null })

  const ended: PodStatus = {
    containerStatuses: [
      { name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } },
    ],
  }
  const running: PodStatus = {
    containerStatuses: [{ name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: { running: {} } }],
  }
  t.equal(isLegalTransition(pod({ restartPolicy: 'Never' }), ended, running), false)
  t.equal(isLegalTransition(pod({}), ended, running), true)
})

t.test('references in words', async (t) => {
  const env = { A: '1', long: 'x'.repeat(WORD_BYTES / 2) }
  const from = among(env)
  for (const [text, expected] of [
    ['$(A) $(B) $$(A) $A', '1 $(B) $(A) $A'],
    ['$($(A)', '$($(A)'],
    ['$(A$(A)$(A)', '$(A$(A)1'],
    ['$(A)$$ $$( $( $', '1$ $( $( $'],
    ['$(constructor)$(__proto__)', '$(constructor)$(__proto__)'],
  ] as const)
    t.equal(expand(text, from), expected, text)
  t.equal(expand('$(long)$(long)', from).length, WORD_BYTES)
  t.throws(() => expand('$(long)$(long)$(A)', from), { message: 'a word expands to more than 131072 bytes' })
  const expander = new Expander()
  for (let made = 0; made < PROGRAM_BYTES; made += env.long.length) expander.expand('$(long)', from)
  t.throws(
    () => expander.expand('$(A)', from),
    { message: /^its words expand to more/ },
    'words of one program count together',
  )
  const took = (bytes: number): number => {
    const before = process.cpuUsage()
    expand('$('.repeat(bytes / 2), from)
    return process.cpuUsage(before).user
  }
  t.ok(took(1_000_000) < 500_000, 'what begins like a reference is read once')
})

t.test('texts', async (t) => {
  t.same([0, 350, 10_000, 80_000, 300_000, 3_600_000].map(goDuration), [
    '0s',
    '350ms',
    '10s',
    '1m20s',
    '5m0s',
    '1h0m0s',
  ])
  t.equal(qualifiedImage('busybox:1.37'), 'docker.io/library/busybox:1.37')
  t.equal(qualifiedImage('127.0.0.1:17490/nope:1'), '127.0.0.1:17490/nope:1')
  t.equal(qualifiedImage('bitnami/redis'), 'docker.io/bitnami/redis:latest')
})

t.test('a grace that Go cannot count', async (t) => {
  t.equal(goDurationMs(30), 30_000)
  t.equal(goDurationMs(-5), -5_000)
  const century = 3_153_600_000
  t.equal(goDurationMs(century), century * 1000)
  t.equal(goDurationMs(9_999_999_999), -8_446_744_074_709, 'more than 292 years wraps around')
  t.equal(goDurationMs(Number.MAX_SAFE_INTEGER), 4_611_686_017_427)
})

t.test('memory is given back after three idle seconds, once, and not between two bursts of pods', async (t) => {
  const clock = createVirtualClock()
  const shares: number[] = []
  let heapBytes = 100_000_000
  let collected = 0
  const end = giveBackMemory(clock, {
    utilization: () => shares.shift() ?? 0,
    heapBytes: () => heapBytes,
    async collect() {
      collected++
      heapBytes = 20_000_000
    },
  })
  shares.push(0.9, 0, 0, 0.9, 0, 0)
  await clock.advance(6_000)
  t.equal(collected, 0)
  await clock.advance(1_000)
  t.equal(collected, 1)
  await clock.advance(60_000)
  t.equal(collected, 1)
  end()
})
