/** What `kubestage rehearse` makes of what it reads and sees; the running of it is in test/e2e. */
import t from 'tap'
import type { Sample } from '../../../cli/load/request.ts'
import { hasSucceeded, isOver } from '../../../cli/rehearse/end-by-itself.ts'
import { inRounds, Lanes } from '../../../cli/rehearse/lanes.ts'
import { loadLines } from '../../../cli/rehearse/load/load-lines.ts'
import { summarize } from '../../../cli/rehearse/load/load-summary.ts'
import { checkManifest } from '../../../cli/rehearse/verdict/manifest-checks.ts'
import type { Observation } from '../../../cli/rehearse/verdict/observation.ts'
import { judge } from '../../../cli/rehearse/verdict/verdict.ts'
import { ways } from '../../../cli/rehearse/ways.ts'
import { sharedThings, simpleWorkload, sortObjects, type Workload } from '../../../cli/rehearse/workload.ts'
import type { TerminatedContainer, TerminationStep } from '../../../shared/api/termination.ts'
import type { Container, KubeObject, Pod, PodSpec, PodStatus } from '../../../shared/api/types.ts'

const thresholds = { maxGraceUsed: 80, maxLivenessDowntime: 60_000, maxLostRequests: 0, allowedExitCodes: [0] }
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString()

function workloadOf(container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Workload {
  const containers = [{ name: 'main', image: 'busybox', ...container }]
  return { name: 'pod/web', namespace: 'default', template: { metadata: {}, spec: { containers, ...spec } } }
}
const hook = (outcome: string, seconds: number, more: Partial<TerminationStep> = {}): TerminationStep => ({
  name: 'PreStop',
  startTime: at(0),
  endTime: at(seconds),
  outcome,
  ...more,
})
const signal = (name: string, outcome?: string): TerminationStep => ({ name, startTime: at(0), outcome })
const KILL = signal('SIGKILL')

function stopped(steps: TerminationStep[], more: Partial<TerminatedContainer> = {}): Observation {
  const container = { name: 'main', verdict: '', gracePeriodSeconds: 30, used: '400ms', exitCode: 0, steps, ...more }
  return { termination: { metadata: {}, containers: [container] } }
}
function faultsOf(seen: Observation, { way = 'delete', workload = workloadOf() } = {}): string[] {
  return judge(ways.find(({ name }) => name === way)!, workload, seen, thresholds).map(({ fault, severity }) =>
    severity === 'bad' ? fault : `(${fault})`,
  )
}

t.test('what is said of the way a container was stopped', (t) => {
  const caught = signal('SIGTERM', 'Caught')
  const byDefault = signal('SIGTERM', 'Default')
  const killed = { used: '30.1s', exitCode: 137 }
  const seen: [faults: string[], steps: TerminationStep[], more?: Partial<TerminatedContainer>][] = [
    [[], [caught]],
    [[], [hook('Succeeded', 5), caught], { used: '5.2s' }],
    [['no-term-handler'], [byDefault, KILL], killed],
    [['no-term-handler'], [byDefault], { exitCode: 143 }],
    [['ignores-term'], [signal('SIGTERM', 'Ignored'), KILL], killed],
    [['goes-on-after-term'], [caught, KILL], killed],
    [['goes-on-after-term'], [signal('SIGTERM'), KILL], killed],
    [['hook-overruns'], [hook('TimedOut', 30), caught], { used: '30.2s' }],
    [['hook-overruns'], [hook('TimedOut', 30), caught, KILL], { used: '32s', exitCode: 137 }],
    [['hook-uses-most'], [hook('Succeeded', 28), caught], { used: '28.2s' }],
    [[], [hook('Succeeded', 23), caught], { used: '23.2s' }],
    [['slow-stop'], [caught], { used: '25s' }],
    [['hook-fails'], [hook('Failed', 1, { exitCode: 2 }), caught]],
    [['hook-without-listener'], [hook('Failed', 1, { message: 'dial tcp: connect: connection refused' }), caught]],
    [['exits-143'], [caught], { exitCode: 143 }],
    [['exits-non-zero'], [caught], { exitCode: 1 }],
  ]
  for (const [faults, steps, more] of seen) t.same(faultsOf(stopped(steps, more)), faults)
  const { termination } = stopped([])
  const stepless = termination?.containers?.map(({ steps: _, ...container }) => container as TerminatedContainer)
  t.same(faultsOf({ termination: { metadata: {}, containers: stepless } }), [], 'it had ended before any step')
  const shell = workloadOf({ command: ['sh', '-c', 'server; echo over'] })
  t.same(faultsOf(stopped([byDefault, KILL], killed), { workload: shell }), ['shell-swallows-term'])
  t.end()
})

t.test('some ways are milder, or look at one thing only', (t) => {
  const deaf = stopped([signal('SIGTERM', 'Default'), KILL], { used: '3s', gracePeriodSeconds: 3, exitCode: 137 })
  t.same(faultsOf(deaf, { way: 'short-grace' }), ['(no-term-handler)'])
  t.same(faultsOf(deaf, { way: 'force' }), ['(no-term-handler)'])
  t.same(faultsOf(deaf, { way: 'children' }), [])
  t.same(faultsOf({ ...deaf, children: ['sleep'] }, { way: 'children' }), [], 'as PID 1 it would not even end')
  const caught = stopped([signal('SIGTERM', 'Caught')])
  t.same(faultsOf({ ...caught, children: ['sleep'] }, { way: 'children' }), ['leaves-children'])
  const unrecorded = (exitCode: number): Observation => {
    const status = { containerStatuses: [{ name: 'main', state: { terminated: { exitCode } } }] } as PodStatus
    return { pod: { metadata: {}, spec: { containers: [] }, status } }
  }
  t.same(faultsOf(unrecorded(1), { way: 'kubelet-restart' }), ['exits-non-zero'], 'without a record')
  t.same(faultsOf(unrecorded(137), { way: 'kubelet-restart' }), [])
  t.same(faultsOf({ ...stopped([]), comesBack: false }, { way: 'liveness' }), ['does-not-come-back'])
  const patient = stopped([signal('SIGTERM', 'Caught')], { used: '20s', gracePeriodSeconds: 40 })
  const workload = workloadOf({}, { terminationGracePeriodSeconds: 10 })
  t.same(faultsOf(patient, { way: 'patience', workload }), ['grace-too-short'])
  t.same(faultsOf(patient, { way: 'patience' }), [], 'it has 30')
  t.end()
})

t.test('how long a container hangs', (t) => {
  const workload = workloadOf({ livenessProbe: { periodSeconds: 15 } })
  const probed = (used: string) => stopped([signal('SIGTERM', 'Caught')], { used })
  t.same(faultsOf(probed('20s'), { way: 'liveness', workload }), ['slow-liveness-death'], '45 s and 20 s')
  t.same(faultsOf(probed('2s'), { way: 'liveness', workload }), [])
  t.end()
})

t.test('requests while it ends', (t) => {
  const sample = (outcome: Sample['outcome'], startMs: number, endMs = startMs + 5): Sample => ({
    outcome,
    startMs,
    endMs,
  })
  const samples = [
    sample('lost', 100), // before it was asked to end
    sample('answered', 900),
    sample('cut', 950, 1_200),
    sample('answered', 1_100),
    sample('lost', 1_500),
    sample('lost', 2_900),
    sample('lost', 3_100), // by then clients send no more
  ]
  const load = summarize(samples, { stopBeganMs: 1_000, endpointDelayMs: 2_000 })
  t.same(load, { sent: 6, lost: 2, cut: 1, slowestSeconds: 0.005, missingSeconds: 1.5 })
  const [tooSoon] = judge(ways[0]!, workloadOf(), { ...stopped([]), load }, thresholds)
  t.match(tooSoon, { fault: 'stops-too-soon', remedy: 'add a sleep hook of about 2 s' })
  const sleeps = workloadOf({ lifecycle: { preStop: { sleep: { seconds: 1 } } } })
  const [again] = judge(ways[0]!, sleeps, { ...stopped([]), load }, thresholds)
  t.match(again, { remedy: 'let its sleep hook take about 2 s more' })
  t.same(faultsOf({ ...stopped([]), load: { sent: 6, lost: 0, cut: 1, slowestSeconds: 1 } }), ['cuts-requests'])
  t.same(faultsOf({ ...stopped([]), load }), ['stops-too-soon'], 'one was just coming in')
  const both = { ...stopped([]), load: { ...load, cut: 3 } }
  t.same(faultsOf(both, { way: 'force' }), ['(stops-too-soon)', '(cuts-requests)'])
  t.end()
})

t.test('what a manifest gives away', (t) => {
  const preStop = (handler: object) => ({ lifecycle: { preStop: handler } })
  const sh = (script: string) => ({ command: ['sh', '-c', script] })
  const cases: [faults: string[], container: Partial<Container>, spec?: Partial<PodSpec>][] = [
    [[], {}],
    [[], sh('exec server')],
    [[], sh('server')],
    [[], sh('trap "kill $!" TERM; server & wait')],
    [['shell-swallows-term'], sh('migrate && server')],
    [['shell-swallows-term'], { command: ['/bin/sh', '-ec'], args: ['migrate\nserver\n'] }],
    [['shell-swallows-term'], { command: ['/bin/bash', '-o', 'pipefail', '-c', 'migrate; server | tee log'] }],
    [[], { command: ['/bin/bash', '-ec'], args: ['migrate\nserver\n'] }],
    [[], { command: ['bash', '-c', 'migrate && server'] }],
    [['shell-swallows-term'], { command: ['bash', '-c', 'while :; do work; done'] }],
    [[], sh('server --greeting "a; b" 2>&1')],
    [[], sh('# first; then\nserver')],
    [[], { command: ['sh', '/scripts/run.sh'] }],
    [[], {}, { initContainers: [{ name: 'wait', image: 'busybox', ...sh('until nslookup db; do sleep 2; done') }] }],
    [
      ['hook-longer-than-grace'],
      {},
      {
        initContainers: [
          { name: 'proxy', image: 'proxy', restartPolicy: 'Always', ...preStop({ sleep: { seconds: 40 } }) },
        ],
      },
    ],
    [['hook-longer-than-grace'], preStop({ sleep: { seconds: 40 } })],
    [[], preStop({ sleep: { seconds: 40 } }), { terminationGracePeriodSeconds: 60 }],
    [['hook-longer-than-grace'], preStop({ exec: { command: ['/bin/sleep', '30'] } })],
    [['hook-longer-than-grace'], preStop({ exec: sh('sleep 30') })],
    [['hook-longer-than-grace'], preStop({ exec: sh('sleep 25; nginx -s quit; sleep 5') })],
    [['hook-longer-than-grace'], preStop({ exec: { command: ['/bin/bash', '-c', 'sleep 1m && nginx -s quit'] } })],
    [[], preStop({ exec: sh('leave && sleep 30') })],
    [[], preStop({ exec: sh('if drained; then exit 0; fi; sleep 30') })],
    [[], preStop({ exec: sh('sleep 30 & drain') })],
    [[], preStop({ exec: sh('echo "sleep 30"') })],
    [[], preStop({ exec: sh('sleep $DELAY') })],
    [['reason-delivery'], preStop({ exec: sh('drain'), reasonDelivery: { header: 'X-Why' } })],
    [['reason-delivery'], preStop({ httpGet: { port: 80 }, reasonDelivery: { env: 'WHY' } })],
    [['reason-delivery'], preStop({ exec: sh('drain'), reasonDelivery: {} })],
    [['reason-delivery'], preStop({ sleep: { seconds: 1 }, reasonDelivery: { env: 'WHY' } })],
    [['reason-delivery'], preStop({ exec: sh('echo $KUBE_POD_TERM_REASON'), reasonDelivery: { env: 'WHY' } })],
    [['reason-delivery'], preStop({ exec: sh('echo $TERMINATION_REASON') })],
    [[], { ...preStop({ exec: sh('echo $RESTART_REASON') }), env: [{ name: 'RESTART_REASON', value: 'none' }] }],
    [[], preStop({ exec: sh('EXIT_REASON=$(cat /tmp/why); echo "$EXIT_REASON"') })],
    [[], { ...preStop({ exec: sh('echo $RESTART_REASON') }), envFrom: [{ configMapRef: { name: 'web' } }] }],
    [['reason-unheard'], preStop({ exec: sh('echo bye'), reasonDelivery: { env: 'WHY' } })],
    [[], preStop({ exec: sh('echo "$WHY"'), reasonDelivery: { env: 'WHY' } })],
    [[], preStop({ exec: { command: ['/opt/drain'] }, reasonDelivery: { env: 'WHY' } }), {}],
    [[], preStop({ httpGet: { port: 80 }, reasonDelivery: { header: 'X-Why' } })],
    [['probe-grace'], { livenessProbe: { terminationGracePeriodSeconds: 60 } }],
    [[], { livenessProbe: { terminationGracePeriodSeconds: 5 } }],
  ]
  for (const [faults, container, spec] of cases) {
    const found = checkManifest(workloadOf(container, spec)).map(({ fault }) => fault)
    t.same(found, faults, JSON.stringify(container))
  }
  t.end()
})

t.test('what runs in pods, and what is just there', (t) => {
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'busybox' }] } }
  const object = (kind: string, spec: object): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'web' },
    spec,
  })
  const sources = [
    object('ConfigMap', {}),
    object('Pod', template.spec),
    object('Deployment', { template }),
    object('CronJob', { jobTemplate: { spec: { template } } }),
    object('StatefulSet', { template, volumeClaimTemplates: [{ metadata: { name: 'data' } }] }),
    object('Service', {}),
    object('PodDisruptionBudget', {}),
    object('Job', { completionMode: 'Indexed', template }),
    { ...object('Job', { template }), metadata: { name: 'migrate', annotations: { 'helm.sh/hook': 'pre-upgrade' } } },
    { ...object('Secret', {}), metadata: { name: 'early', annotations: { 'helm.sh/hook': 'pre-install' } } },
  ].map((source) => ({ object: source, file: 'all.yaml' }))
  const { workloads, others, hooks } = sortObjects(sources)
  t.same(
    workloads.map(({ name }) => name),
    ['pod/web', 'deployment/web', 'cronjob/web', 'statefulset/web', 'job/web'],
  )
  const [set, indexed] = workloads.slice(-2)
  t.same(set?.template.spec.volumes, [{ name: 'data', emptyDir: {} }])
  t.match(set, {
    isOrdinal: true,
    template: { metadata: { labels: { app: 'web', 'apps.kubernetes.io/pod-index': '0' } } },
  })
  t.match(indexed?.template.spec.containers, [{ env: [{ name: 'JOB_COMPLETION_INDEX', value: '0' }] }])
  t.same(template.spec.containers, [{ name: 'c', image: 'busybox' }], 'what was read stays')
  t.match(workloads, [{ template: { spec: template.spec } }, { template }, { template }])
  t.same(
    others.map(({ kind }) => kind),
    ['ConfigMap', 'Service', 'Secret'],
  )
  t.match(hooks, [{ metadata: { name: 'migrate' } }])
  t.match(simpleWorkload({ command: ['server', '--fast'], folder: '/srv' }), {
    name: 'server --fast',
    template: { spec: { containers: [{ command: ['server', '--fast'], workingDir: '/srv' }] } },
  })
  t.end()
})

t.test('pods get in each other’s way by what they share', async (t) => {
  const ports = [{ containerPort: 80 }]
  const address = [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }]
  t.same(sharedThings(workloadOf({ ports })), ['port 80'])
  t.same(sharedThings(workloadOf({ ports, env: address })), [], 'each binds its own')
  t.same(sharedThings(workloadOf({ ports: [{ containerPort: 80, hostPort: 81 }], env: address })), ['port 81'])
  t.same(sharedThings(workloadOf({}, { volumes: [{ name: 'v', hostPath: { path: '/data' } }] })), ['folder /data'])
  t.same(
    inRounds(['a', 'ab', 'b', 'c', ''], 3, (item) => [...item]),
    [
      ['a', 'b', 'c'],
      ['ab', ''],
    ],
  )

  const lanes = new Lanes(2)
  const log: string[] = []
  const gates = ['a', 'a', 'b'].map((thing, index) => {
    const gate = Promise.withResolvers<void>()
    const done = lanes.run([thing], async () => {
      log.push(`${index} begins`)
      await gate.promise
    })
    return { open: gate.resolve, done }
  })
  await Promise.resolve()
  t.same(log, ['0 begins', '2 begins'], 'the second waits for what the first has')
  gates[0]!.open()
  await gates[0]!.done
  await Promise.resolve()
  t.same(log.at(-1), '1 begins')
  for (const { open } of gates) open()
  await Promise.all(gates.map(({ done }) => done))
})

t.test('what ends by itself', (t) => {
  const ended = (exitCode?: number) => ({ state: exitCode === undefined ? {} : { terminated: { exitCode } } })
  const pod = (restartPolicy: string, ...exitCodes: (number | undefined)[]) => {
    const containerStatuses = exitCodes.map((code, index) => ({ name: `c${index}`, ...ended(code) }))
    const witness = { name: 'rehearsal-witness', ...ended() }
    const status = { phase: 'Running', containerStatuses: [...containerStatuses, witness] }
    return { metadata: {}, spec: { containers: [], restartPolicy }, status } as unknown as Pod
  }
  t.ok(isOver(pod('Never', 0, 1)), 'though the witness goes on')
  t.notOk(isOver(pod('Never', 0, undefined)))
  t.notOk(isOver(pod('Always', 0)), 'it comes again')
  t.ok(isOver(pod('OnFailure', 0)))
  t.notOk(isOver(pod('OnFailure', 1)))
  t.ok(hasSucceeded(pod('Never', 0, 0)))
  t.notOk(hasSucceeded(pod('Never', 0, 1)))
  t.end()
})

t.test('what clients saw, as lines of a record', (t) => {
  const sample = (startMs: number, outcome: Sample['outcome'] = 'answered'): Sample => ({
    startMs,
    endMs: startMs + 5,
    outcome,
  })
  const target = { target: 'pod/web', namespace: 'default', untilMs: 1_000 }
  const lines = loadLines(
    [sample(0), sample(50), sample(450, 'lost'), sample(460, 'cut'), sample(1_001, 'lost')],
    target,
  )
  t.match(lines, [
    { at: '1970-01-01T00:00:00.000Z', seconds: 0.2, target: 'pod/web', answered: 2, lost: 0, cut: 0, slowestMs: 5 },
    { at: '1970-01-01T00:00:00.400Z', seconds: 0.2, namespace: 'default', answered: 0, lost: 1, cut: 1, slowestMs: 0 },
  ])
  t.equal(lines.length, 2, 'nothing that real clients would not send')
  t.same(loadLines([], target), [])
  const long = Array.from({ length: 10_000 }, (_, index) => sample(index * 50))
  const all = loadLines(long, { ...target, untilMs: 1e9 })
  t.ok(all.length <= 500)
  t.equal(
    all.reduce((sum, { answered }) => sum + answered, 0),
    10_000,
  )
  t.end()
})
