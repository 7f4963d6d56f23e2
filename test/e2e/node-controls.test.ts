/** What can happen to a node, done with `kubestage node` to a cluster whose time runs faster; hooks and processes are real. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Event, Node, Pod } from '../../shared/api/types.ts'
import { events, nodes, pods, terminations } from '../../shared/client/resources.ts'
import { programOf, startCommand, startTestCluster } from '../harness/cluster.ts'
import { followPod, getText, isReady, podOf } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { addNode } from '../harness/second-node.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const folder = mkdtempSync(join(tmpdir(), 'kubestage-nodes-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const flags = ['--time-scale=4', '--node-monitor-grace-period=20s', '--eviction-pressure-transition-period=6s']
const cluster = await startTestCluster(t, ...flags)
const { client, stateDir } = cluster

/** Tells when it is asked to end. */
const witness = 'trap "echo TERM >>$OUT; exit 1" TERM; while :; do sleep 0.05; done'
const told = (name: string): string => {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
async function startPod(name: string, options: { spec?: Partial<Pod['spec']>; script?: string } = {}) {
  const { spec, script = witness } = options
  const env = [{ name: 'OUT', value: join(folder, name) }]
  const preStop = { exec: { command: ['sh', '-c', 'echo "hook $KUBE_POD_TERM_REASON" >>$OUT'] } }
  const pod = podOf({ name, command: ['sh', '-c', script], env, preStop, hostFolder: folder, spec })
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  await followed.until(isReady, 'to be ready')
  return followed
}
async function node(...words: string[]): Promise<{ code: unknown; output: string }> {
  const command = startCommand(t, ['node', ...words, `--state-dir=${stateDir}`])
  return { code: await command.ended, output: command.output() }
}
const theNode = (name = 'node-1'): Promise<Node> => client.get<Node>(nodes, { name })
const nodeIs = (type: string, status: string) =>
  until(async () => (await theNode()).status?.conditions?.find((one) => one.type === type && one.status === status), {
    what: `${type} of the node to be ${status}`,
  })
const taintsOf = async (name = 'node-1') =>
  ((await theNode(name)).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)
const eventsOf = async (name: string) =>
  (await client.list<Event>(events)).items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`)
/** Events are told beside the deed, and may come after it. */
const isTold = (name: string, wanted: string) =>
  until(async () => (await eventsOf(name)).some((text) => text.startsWith(wanted)), { what: `${wanted}, of ${name}` })
const recordOf = (podName: string): Promise<Termination> =>
  until(
    async () =>
      (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${podName}` })).items[0],
    { what: `the record of ${podName}` },
  )
/** Resolves when the next one is there, to be found where the first one was. */
async function killKubelet(): Promise<void> {
  const port = (await theNode()).status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0
  const kubelets = new Set(processesWith(programOf('kubelet')))
  const [kubelet] = processesWith(stateDir).filter((pid) => kubelets.has(pid))
  process.kill(kubelet!, 'SIGKILL')
  await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
  await until(() => answers(port), { what: `a kubelet at port ${port}` })
}
const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
const isOver = ({ status }: Pod): boolean => status?.phase === 'Failed'

t.test('pressure', async (t) => {
  const greedy = `x=$(head -c 60000000 /dev/zero | tr '\\0' x); ${witness}`
  const spared = await startPod('critical', { spec: { priorityClassName: 'system-node-critical' } })
  const hog = await startPod('hog', { script: greedy })
  t.same(await node('pressure', 'node-1', 'memory', '--available=50Mi'), {
    code: 0,
    output: 'node-1 is low on memory\n',
  })
  const { status } = await hog.until(isOver, 'to be evicted')
  const message =
    /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: 50Mi\. Container main was using \d+[KM]i, request is 0, has larger consumption of memory\. $/
  t.match(status, { phase: 'Failed', reason: 'Evicted', message })
  t.match(
    status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
    { status: 'True', reason: 'TerminationByKubelet', message },
  )
  t.match(told('hog'), /^hook Eviction\n/, 'a real hook is told Eviction')
  const inGrace = hog.events.find(({ object }) => object.metadata.reason !== undefined && !isOver(object))?.object
  t.match(inGrace, { metadata: { reason: 'Eviction' }, status: { phase: 'Running' } }, 'so is who reads the object')
  t.match(await recordOf('hog'), { reason: 'Eviction', cause: 'Evicted', message, phase: 'Failed' })
  await nodeIs('MemoryPressure', 'True')
  await until(async () => (await taintsOf()).includes('node.kubernetes.io/memory-pressure:NoSchedule'), {
    what: 'the taint',
  })
  await isTold('hog', 'Evicted: The node was low')
  await isTold('node-1', 'EvictionThresholdMet: Attempting to reclaim memory')
  const late = podOf({ name: 'late', command: ['true'], spec: { nodeName: 'node-1' } })
  await client.create(pods, late, { namespace })
  const refused = await (await followPod(client, { namespace, name: 'late' })).until(isOver, 'to be refused')
  t.match(refused.status, {
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
  })
  t.match(
    (await node('list')).output,
    /^node-1 +Ready +MemoryPressure +node.kubernetes.io\/memory-pressure:NoSchedule +1$/m,
  )
  t.match(JSON.parse((await node('list', '-o', 'json')).output), [
    { name: 'node-1', pressure: ['MemoryPressure'], pods: 1 },
  ])
  t.equal((await node('pressure', 'node-1', 'memory', '--off')).code, 0)
  await nodeIs('MemoryPressure', 'False')
  t.ok(isReady(spared.events.at(-1)!.object), 'a critical pod is never evicted')
})

t.test('a volume that grows too large', async (t) => {
  const volumes = [{ name: 'd', emptyDir: { sizeLimit: '1Mi' } }]
  const pod = podOf({
    name: 'filler',
    command: ['sh', '-c', `head -c 3000000 /dev/zero >/d/f; ${witness}`],
    spec: { volumes },
  })
  pod.spec.containers[0]!.volumeMounts = [{ name: 'd', mountPath: '/d' }]
  pod.spec.containers[0]!.env = [{ name: 'OUT', value: '/dev/null' }]
  await client.create(pods, pod, { namespace })
  const { status } = await (await followPod(client, { namespace, name: 'filler' })).until(isOver, 'to be evicted')
  t.match(status, { reason: 'Evicted', message: 'Usage of EmptyDir volume "d" exceeds the limit "1Mi". ' })
})

t.test('shutdown, and back', async (t) => {
  const important = await followPod(client, { namespace, name: 'critical' })
  const pod = await startPod('ordinary')
  t.same(await node('shutdown', 'node-1'), {
    code: 0,
    output: 'node-1 is off; kubestage node return node-1 starts it again\n',
  })
  const message = 'Pod was terminated in response to imminent node shutdown.'
  for (const followed of [pod, important]) {
    const { status } = await followed.until(isOver, 'to end')
    t.match(status, { phase: 'Failed', reason: 'Terminated', message })
    t.match(
      status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
      { reason: 'TerminationByKubelet', message },
    )
    const podName = followed.events[0]!.object.metadata.name!
    t.match(await recordOf(podName), { reason: 'Eviction', cause: 'NodeShutdown', message })
  }
  t.equal(told('ordinary'), 'hook Eviction\nTERM\n', 'a node shutdown tells Eviction')
  t.match(await nodeIs('Ready', 'False'), { reason: 'KubeletNotReady', message: 'node is shutting down' })
  await isTold('node-1', 'Shutdown: Shutdown manager detected shutdown event')
  t.equal((await node('return', 'node-1')).code, 0)
  await nodeIs('Ready', 'True')
})

t.test('lost, and found again', async (t) => {
  const kept = await startPod('kept')
  await startPod('orphan')
  const deleted = await startPod('deleted')
  t.equal((await node('lose', 'node-1')).code, 0)
  const unknown = await nodeIs('Ready', 'Unknown')
  t.match(unknown, { message: 'Kubelet stopped posting node status.' }, 'the node is Ready=Unknown')
  const unready = await kept.until(
    ({ metadata, status }) => !isReady({ metadata, status } as Pod) && status?.podIP !== undefined,
    'to be not ready',
  )
  t.equal(unready.status?.phase, 'Running', 'the phase is never Unknown')
  await until(async () => (await taintsOf()).includes('node.kubernetes.io/unreachable:NoSchedule'), {
    what: 'the taint',
  })
  await isTold('kept', 'NodeNotReady: Node is not ready')
  const { message } = JSON.parse(await getText(cluster, '/api/v1/namespaces/default/pods/kept/log'))
  t.match(message, /^Get "https:\/\/127\.0\.0\.1:\d+\/containerLogs\/default\/kept\/main": EOF$/)
  await client.delete(pods, { namespace, name: 'orphan' }, { gracePeriodSeconds: 0 })
  await client.delete(pods, { namespace, name: 'deleted' }, { reason: 'the rack is gone' })
  t.equal(told('orphan') + told('deleted'), '', 'nobody there knows')
  t.equal((await node('return', 'node-1')).code, 0)
  await nodeIs('Ready', 'True')
  await deleted.untilDeleted()
  t.equal(told('deleted'), 'hook the rack is gone\nTERM\n')
  await until(() => processesWith(join(folder, 'orphan')).length === 0, { what: 'the orphan to be ended' })
  const { status } = await client.get<Pod>(pods, { namespace, name: 'kept' })
  t.equal(status?.containerStatuses?.[0]?.restartCount, 0, 'what nobody deleted ran on')
  t.equal(told('kept'), '')
})

t.test('lost, and its kubelet with it: the next one is lost, too', async (t) => {
  const deleted = await startPod('unheard')
  t.equal((await node('lose', 'node-1')).code, 0)
  await killKubelet()
  await client.delete(pods, { namespace, name: 'unheard' }, { reason: 'nobody listens' })
  await nodeIs('Ready', 'Unknown')
  t.equal(told('unheard'), '')
  t.equal((await node('return', 'node-1')).code, 0)
  await deleted.untilDeleted()
  t.equal(told('unheard'), 'hook nobody listens\nTERM\n')
  await nodeIs('Ready', 'True')
})

t.test('one of two nodes is lost: its pods are deleted, and end when it is back', async (t) => {
  await addNode(t, cluster, 'node-2')
  const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' }
  const spec = { nodeName: 'node-2' }
  const hasty = await startPod('hasty', { spec: { ...spec, tolerations: [{ ...unreachable, tolerationSeconds: 4 }] } })
  const patient = await startPod('patient', { spec })
  t.equal((await node('lose', 'node-2')).code, 0)
  const deleted = await hasty.until(({ metadata }) => metadata.deletionTimestamp !== undefined, 'to be deleted')
  t.equal(deleted.metadata.reason, 'IntolerableTaint')
  t.match(
    deleted.status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
    { status: 'True', reason: 'DeletionByTaintManager' },
  )
  const taints = ['NoExecute', 'NoSchedule'].map((effect) => `node.kubernetes.io/unreachable:${effect}`)
  await until(async () => (await taintsOf('node-2')).sort().join() === taints.join(), { what: 'both taints' })
  await isTold('hasty', 'TaintManagerEviction: Marking for deletion Pod default/hasty')
  t.equal(told('hasty'), '', 'it still runs')
  t.equal((await node('return', 'node-2')).code, 0)
  await hasty.untilDeleted()
  t.equal(told('hasty'), 'hook IntolerableTaint\nTERM\n')
  await until(async () => (await taintsOf('node-2')).length === 0, { what: 'the taints to go' })
  t.equal(patient.events.at(-1)?.object.metadata.deletionTimestamp, undefined, 'it has five minutes')
  t.equal(told('patient'), '')
})

t.test('mistakes are told in one sentence', async (t) => {
  const cases: [string[], RegExp, code?: number][] = [
    [['lose'], /^kubestage: usage: kubestage node lose NAME\n$/, 2],
    [['retrun', 'node-1'], /^kubestage: unknown argument "retrun" of kubestage node; did you mean return\? .*\n$/, 2],
    [['lose', 'node-3'], /^kubestage: node "node-3" not found; kubestage node list shows all\n$/],
    [['pressure', 'node-1', 'patience'], /^kubestage: unknown signal "patience"; there are memory, .*\n$/, 2],
    [['pressure', 'node-1', 'disk', '--available=much'], /^kubestage: available must be an amount .*\n$/, 2],
  ]
  await Promise.all(
    cases.map(async ([words, wanted, expected = 1]) => {
      const { code, output } = await node(...words)
      t.equal(code, expected, words.join(' '))
      t.match(output, wanted)
    }),
  )
})
