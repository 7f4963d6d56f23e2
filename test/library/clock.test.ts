/** Time that is moved: all waits follow, and processes are told. Virtual time is in library.test.ts. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { resources, startCluster } from '../../library/index.ts'
import type { Container, Node, Pod, PodSpec } from '../../shared/api/types.ts'
import { leases } from '../../shared/client/resources.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { deafScript, podOf, politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'
import { namespace, start } from './stage.ts'

const { nodes, pods } = resources
const minuteMs = 60_000
const cluster = await start(t, { nodes: 2 })
const { client, clock } = cluster

async function run(name: string, command: string[], spec: Partial<PodSpec> = {}, main: Partial<Container> = {}) {
  const pod = podOf({ name, command, spec, hostFolder: t.testdirName })
  Object.assign(pod.spec.containers[0]!, main)
  await client.create(pods, pod, { namespace })
  return cluster.waitFor<Pod>(pods, { namespace, name }, ({ status }) => status?.phase === 'Running')
}
const get = (name: string) => client.get<Pod>(pods, { namespace, name })
const restartsOf = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []

t.testdir()

t.test('ten minutes: nodes stay ready, and processes are told', async (t) => {
  const told = join(t.testdirName, 'told')
  t.testdir()
  const note = `cat $KUBESTAGE_CLOCK_FILE >> ${told}`
  const pod = podOf({
    name: 'told',
    hostFolder: t.testdirName,
    command: [
      'sh',
      '-c',
      `trap '${note}' CONT; trap 'exit 0' TERM; echo begin >> ${told}; while :; do sleep 0.02; done`,
    ],
  })
  await client.create(pods, pod, { namespace })
  await run('untold', ['sleep', '1000'])
  await until(() => linesOf(told).length === 1, { what: 'the trap to be set' })
  const before = clock.now()
  await clock.advance('10m')
  const passedMs = clock.now() - before
  t.ok(passedMs >= 10 * minuteMs && passedMs < 11 * minuteMs, `${passedMs} ms`)
  await until(() => linesOf(told).length > 1, { what: 'the process to hear of it' })
  t.same(linesOf(told), ['begin', '+600'], 'once')
  t.equal(restartsOf(await get('untold')), 0, 'to others nothing has happened')
  for (const { metadata, spec, status } of (await client.list<Node>(nodes)).items) {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    t.equal(ready?.status, 'True')
    t.notOk(spec?.taints)
    const { name = '' } = metadata
    const lease = await client.get<{ spec: { renewTime: string } }>(leases, { namespace: 'kube-node-lease', name })
    t.ok(clock.now() - parseTime(lease.spec.renewTime) < 30_000, `${name} has renewed its lease all the time`)
  }
})

t.test('a back-off of five minutes', async (t) => {
  await client.create(pods, podOf({ name: 'crash', command: ['false'] }), { namespace })
  const restarted = (count: number) =>
    cluster.waitFor<Pod>(
      pods,
      { namespace, name: 'crash' },
      (pod) => restartsOf(pod) === count && !pod.status?.containerStatuses?.[0]?.state?.running,
    )
  for (const [index, seconds] of [10, 20, 40, 80, 160, 300].entries()) {
    await restarted(index + 1)
    // Time goes on by itself as well.
    await clock.advance(`${seconds / 2}s`)
    if (seconds >= 80) t.equal(restartsOf(await get('crash')), index + 1, `less than ${seconds} s`)
    await clock.advance(`${seconds / 2}s`)
  }
  t.equal(restartsOf(await restarted(7)), 7)
})

t.test(
  'grace, however long: of a hook that sleeps, of a program that is deaf, of a taint that is tolerated',
  async (t) => {
    const terminationGracePeriodSeconds = 600
    const preStop = { sleep: { seconds: 300 } }
    const tolerations = [{ key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 120 }]
    await Promise.all([
      run('sleeps', ['sh', '-c', deafScript], { terminationGracePeriodSeconds }, { lifecycle: { preStop } }),
      run('polite', ['sh', '-c', politeScript], { terminationGracePeriodSeconds }, { lifecycle: { preStop } }),
      run('tolerant', ['sleep', '1000'], { nodeName: 'node-2', tolerations, terminationGracePeriodSeconds: 1 }),
    ])
    await client.patch(nodes, { name: 'node-2' }, { spec: { taints: [{ key: 'maintenance', effect: 'NoExecute' }] } })
    t.teardown(() => client.patch(nodes, { name: 'node-2' }, { spec: { taints: null } }))
    for (const name of ['sleeps', 'polite']) await client.delete(pods, { namespace, name }, { reason: 'Update' })
    await clock.advance('1m')
    t.notOk((await get('tolerant')).metadata.deletionTimestamp)
    await clock.advance('90s')
    await cluster.waitForDeleted(pods, { namespace, name: 'tolerant' })
    await clock.advance('1m')
    t.equal((await get('polite')).status?.phase, 'Running', 'three and a half minutes')
    await clock.advance('2m')
    await cluster.waitForDeleted(pods, { namespace, name: 'polite' })
    await get('sleeps')
    await clock.advance('5m')
    await cluster.waitForDeleted(pods, { namespace, name: 'sleeps' })
    const { steps = [] } = (await cluster.terminations.of('sleeps')).containers?.[0] ?? {}
    t.same(
      steps.map(({ name }) => name),
      ['PreStop', 'SIGTERM', 'SIGKILL'],
    )
  },
)

t.test('a kubelet that is started again knows what time it is', async (t) => {
  await clock.advance('2m')
  cluster.killKubelet('node-1')
  const { metadata } = await run('later', ['sleep', '1000'], { nodeName: 'node-1' })
  const { status } = await get('later')
  t.ok(parseTime(status?.startTime ?? '') >= parseTime(metadata.creationTimestamp ?? '') - 1000)
})

t.test('faster time can be moved as well; what is no duration is refused', async (t) => {
  await using fast = await startCluster({ apiOnly: true, time: 60 })
  const before = fast.clock.now()
  await fast.clock.advance('1h')
  t.ok(fast.clock.now() - before >= 60 * minuteMs)
  await t.rejects(fast.clock.advance('soon'), /a duration must be a duration such as 500ms/)
  await t.rejects(fast.clock.advance(-1), /a duration must be 0 or more, not -1/)
})
