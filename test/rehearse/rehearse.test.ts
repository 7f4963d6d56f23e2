import t from 'tap'
import { countRequests } from '../../rehearse/count-requests.ts'
import { type Facts, judge } from '../../rehearse/judge.ts'
import type { Rehearsal } from '../../rehearse/rehearse.ts'
import { report } from '../../rehearse/report.ts'
import { staticFindings } from '../../rehearse/static-checks.ts'
import { readWorkloads } from '../../rehearse/workload.ts'
import type { TerminatedContainer, TerminationStep } from '../../shared/api/termination.ts'
import type { Container, PodSpec } from '../../shared/api/types.ts'

const at = '2026-01-01T00:00:00.000000Z'
const step = (name: string, outcome?: string, message?: string): TerminationStep => ({
  name,
  startTime: at,
  outcome,
  message,
})
const container = (steps: TerminationStep[], rest: Partial<TerminatedContainer> = {}): TerminatedContainer => ({
  name: 'main',
  verdict: '',
  gracePeriodSeconds: 10,
  used: '1.5s',
  exitCode: 0,
  steps,
  ...rest,
})
const said = (containers: TerminatedContainer[], facts: Facts = {}): string[] =>
  judge({ ...facts, termination: { metadata: {}, gracePeriodSeconds: 10, containers } }).map(
    ({ good, text, detail }) => `${good ? 'good' : 'bad'}: ${text}${detail ? ` (${detail})` : ''}`,
  )
const term = (outcome: string) => step('SIGTERM', outcome)
const kill = step('SIGKILL')

t.test('a death is judged by its steps', async (t) => {
  t.same(said([container([term('Caught')])]), ['good: stopped in 1.5 s of 10 s'])
  t.same(said([container([term('Default'), kill])]), ['bad: ignores TERM: PID 1 has no handler; killed after 10 s'])
  t.same(said([container([term('Ignored'), kill])]), ['bad: ignores TERM; killed after 10 s'])
  t.same(said([container([term('Caught'), kill])]), ['bad: gets TERM and goes on; killed after 10 s'])
  t.same(said([container([term('Caught'), kill])], { neededMs: 12_345 }), [
    'bad: needs 12.3 s to stop, and is killed after 10 s',
  ])
  t.same(said([container([step('PreStop', 'TimedOut'), term('Caught'), kill])]), [
    'bad: its preStop hook uses all of 10 s',
  ])
  t.same(said([container([step('PreStop', 'Failed', 'exit status 3\nmore'), term('Caught')])]), [
    'bad: its preStop hook fails (exit status 3)',
  ])
  t.same(said([container([term('Caught')], { exitCode: 143, signal: 'SIGTERM' })]), [
    'bad: is ended by the signal, with exit code 143',
  ])
  t.same(said([container([term('Caught')], { exitCode: 3 })]), ['bad: exits with 3 when it is asked to stop'])
  t.same(said([container([term('Caught')], { used: '8.5s' })]), ['bad: uses 8.5 s of 10 s'])
  t.same(said([container([term('Caught')]), container([term('Caught')], { name: 'other', used: '2s' })]), [
    'good: stopped in 2.0 s of 10 s',
  ])
})

t.test('requests, failures and force are judged as well', async (t) => {
  const requests = { sent: 20, lost: 3, firstLostMs: 40, learntMs: 1_000 }
  const [verdict] = judge({ requests })
  t.match(verdict, {
    good: false,
    text: /^loses 3 of 20 requests: it stops serving 0.0 s after/,
    remedy: /a preStop sleep of about 2 s/,
  })
  t.match(judge({ requests: { ...requests, lost: 0 } }), [{ good: true }])
  t.match(judge({ failure: 'is not ready' }), [{ good: false, text: 'is not ready' }])
  t.match(judge({ forced: true }), [{ good: true, text: 'gone' }])
})

t.test('of the requests those count whose clients cannot know yet', async (t) => {
  const time = (ms: number) => new Date(1_000_000 + ms).toISOString()
  const sample = (ms: number, isGood = true) => ({ atMs: 1_000_000 + ms, isGood })
  const record = (termMs: number) => ({
    startTime: time(0),
    containers: [container([{ ...step('SIGTERM', 'Caught'), startTime: time(termMs) }])],
  })
  const options = { scale: 1, learntMs: 1_000 }
  const samples = [
    sample(-5, false),
    sample(0),
    sample(500),
    sample(900, false),
    sample(1_000, false),
    sample(1_001, false),
  ]
  t.same(countRequests(samples, record(0), options), { sent: 4, lost: 2, firstLostMs: 900, learntMs: 1_000 })
  // After its TERM a program takes the machine's time: ten seconds of the cluster are one of it.
  const fast = [sample(100), sample(5_000, false), sample(9_000, false), sample(11_000, false)]
  t.same(countRequests(fast, record(0), { scale: 10, learntMs: 1_000 }), {
    sent: 3,
    lost: 2,
    firstLostMs: 500,
    learntMs: 1_000,
  })
  // Before, a hook takes the cluster's.
  t.same(countRequests(fast, record(5_000), { scale: 10, learntMs: 1_000 }), {
    sent: 1,
    lost: 0,
    firstLostMs: undefined,
    learntMs: 1_000,
  })
})

t.test('some faults can be seen in the manifest', async (t) => {
  const found = (container: Partial<Container>, spec: Partial<PodSpec> = {}) => {
    const main: Container = { name: 'main', ...container }
    return staticFindings({ containers: [main], ...spec }).map(({ problem }) => problem)
  }
  t.match(found({ lifecycle: { preStop: { sleep: { seconds: 30 } } } }), [/sleeps 30 s, and all its grace is 30 s/])
  t.same(found({ lifecycle: { preStop: { sleep: { seconds: 29 } } } }), [])
  const exec = { command: ['sh', '-c', 'echo $KUBE_POD_TERM_REASON'] }
  t.match(found({ lifecycle: { preStop: { exec, reasonDelivery: { env: 'WHY' } } } }), [
    /reads KUBE_POD_TERM_REASON, but .* into WHY/,
  ])
  t.same(found({ lifecycle: { preStop: { exec } } }), [])
  const livenessProbe = { terminationGracePeriodSeconds: 60 }
  t.match(found({ livenessProbe }), [/livenessProbe gives 60 s of grace, more than the 30 s/])
  t.same(found({ livenessProbe }, { terminationGracePeriodSeconds: 600 }), [])
  const script = (text: string) => found({ command: ['sh', '-c'], args: [text] })
  t.match(script('prepare; serve'), [/its shell runs a program as a child/])
  t.match(script('prepare && serve\necho done'), [/its shell runs a program as a child/])
  t.same(script('serve'), [], 'a shell with one command becomes that command')
  t.same(script('prepare && exec serve'), [])
  t.same(script('trap "kill $!" TERM; serve & wait'), [])
  t.same(script('while true; do sleep 1; done'), [])
})

t.test('whatever makes pods can be rehearsed', async (t) => {
  const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main' }] } }
  const text = [
    {
      kind: 'Deployment',
      metadata: { name: 'web', annotations: { 'rehearse.kubestage.dev/load': 'http://:80/' } },
      spec: { template },
    },
    { kind: 'CronJob', metadata: { name: 'nightly' }, spec: { jobTemplate: { spec: { template } } } },
    { kind: 'List', items: [{ kind: 'Pod', metadata: { name: 'single' }, spec: template.spec }] },
    { kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'prod' } },
    { kind: 'Ingress', metadata: { name: 'door' } },
  ]
    .map((object) => JSON.stringify(object))
    .join('\n---\n')
  const workloads = readWorkloads('all.yaml', text)
  t.match(workloads, [
    { title: 'Deployment web', name: 'web', load: 'http://:80/', pod: { metadata: { labels: { app: 'a' } } } },
    { title: 'CronJob nightly', load: undefined },
    { title: 'Pod single' },
  ])
  t.match(workloads[0]?.others, [
    { resource: { plural: 'configmaps' }, object: { metadata: { namespace: 'default' } } },
  ])
  t.throws(
    () => readWorkloads('none.yaml', 'kind: Service'),
    /none.yaml: there is no pod in it, nor anything that makes pods/,
  )
  t.throws(() => readWorkloads('bad.yaml', 'a: [\n'), /^bad.yaml:\d+: /)
})

t.test('a report reads well in each format', async (t) => {
  const result = { way: 'delete', title: 'deleted', used: '1s', gracePeriodSeconds: 10, exitCodes: [0, undefined] }
  const good: Rehearsal = {
    workload: 'Pod a',
    findings: [],
    good: true,
    results: [{ ...result, verdicts: [{ good: true, text: 'fine' }] }],
  }
  const bad: Rehearsal = {
    workload: 'Pod <b>',
    good: false,
    findings: [{ container: 'main', problem: 'a | b', remedy: 'c' }],
    results: [
      { ...result, verdicts: [{ good: false, container: 'main', text: 'dies', detail: 'of "x"', remedy: 'live' }] },
    ],
  }
  t.equal(
    report([good], 'text'),
    [
      'Pod a dies well',
      '',
      'WAY       REASON TOLD   STOPPED IN   EXIT   LOST   VERDICT',
      'deleted   -             1s of 10s    0,?    -      good: fine',
      '',
    ].join('\n'),
  )
  t.match(report([bad], 'text'), /BAD: main: dies \(of "x"\)\n\n- main: a \| b: c\n- main: dies: live\n$/)
  t.match(report([bad], 'markdown'), /^## Pod <b>: does not die well\n\n\| way .*\| --- .*\| deleted \| - \|/s)
  t.match(report([bad], 'junit'), /tests="2" failures="2".*<testsuite|name="Pod &lt;b&gt;"/s)
  t.match(report([bad], 'junit'), '<failure message="main: dies (of &quot;x&quot;); live"/>')
  t.same(JSON.parse(report([good, bad], 'json')).length, 2)
})
