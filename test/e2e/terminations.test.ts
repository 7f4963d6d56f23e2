/** The record of a termination, through the doors by which a pod can go: who asked, why, how long each step took, what the hook printed. */
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Node, Pod, PreStopHandler } from '../../shared/api/types.ts'
import { namespaces, nodes, pods, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectl } from '../harness/kubectl.ts'
import { deafScript, followPod, isReady, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const { client, kubeconfig } = await startTestCluster(t)
const admin = 'kubernetes-admin'
const controllers = 'system:kube-controller-manager'
t.jobs = 6

interface Start {
  namespace?: string
  script?: string
  hook?: string
  spec?: Partial<Pod['spec']>
  change?(pod: Pod): void
}
/** Stays when the node is tainted, unless its spec says otherwise. */
async function start(name: string, { namespace = 'default', script = politeScript, hook, spec, change }: Start = {}) {
  const preStop: PreStopHandler | undefined = hook ? { exec: { command: ['sh', '-c', hook] } } : undefined
  const tolerations = [{ operator: 'Exists' as const }]
  const pod = podOf({ name, command: ['sh', '-c', script], preStop, spec: { tolerations, ...spec } })
  change?.(pod)
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  await untilHandled(await followed.until(isReady, 'to be ready'))
  return followed
}
const recordOf = (podName: string, namespace = 'default'): Promise<Termination> =>
  until(
    async () =>
      (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${podName}` })).items[0],
    { what: `the record of ${podName}` },
  )
const stepsOf = ({ containers = [] }: Termination): string[] =>
  containers.flatMap(({ steps }) => steps.map(({ name, outcome }) => [name, outcome].filter(Boolean).join(' ')))

t.test('a delete, with a hook that prints a lot', async (t) => {
  const pod = await start('talkative', { hook: 'echo begin; head -c 20000 /dev/zero | tr "\\0" x; echo; echo end' })
  await client.delete(pods, { namespace: 'default', name: 'talkative' }, { gracePeriodSeconds: 20, reason: 'Update' })
  await pod.untilDeleted()
  const record = await recordOf('talkative')
  t.match(record, {
    reason: 'Update',
    cause: 'PodDeleted',
    gracePeriodSeconds: 20,
    phase: 'Succeeded',
    requests: [{ user: admin, gracePeriodSeconds: 20, reason: 'Update' }],
    containers: [{ name: 'main', exitCode: 0 }],
  })
  t.same(stepsOf(record), ['PreStop Succeeded', 'SIGTERM Caught'])
  const { output = '' } = record.containers![0]!.steps[0]!
  t.match(output, /^begin\nx+[^x]+left out …\nx+\nend\n$/, 'its first and its last 4 KiB')
  t.ok(output.length < 9_000)
  for (const { startTime, endTime = '' } of record.containers![0]!.steps)
    t.ok(startTime <= endTime, 'each has its times')
})

t.test('a delete that is made shorter, and then forced', async (t) => {
  const pod = await start('hurried', {
    script: deafScript,
    hook: 'sleep 1',
    spec: { terminationGracePeriodSeconds: 2 },
  })
  const ref = { namespace: 'default', name: 'hurried' }
  await client.delete(pods, ref)
  await client.delete(pods, ref, { gracePeriodSeconds: 1, reason: 'sooner' })
  await client.delete(pods, ref, { gracePeriodSeconds: 0, reason: 'now' })
  await pod.untilDeleted()
  const record = await recordOf('hurried')
  t.match(record.requests, [{ user: admin }, { gracePeriodSeconds: 1, reason: 'sooner' }, { gracePeriodSeconds: 0 }])
  t.match(record, { gracePeriodSeconds: 2, containers: [{ exitCode: 137, signal: 'SIGKILL' }] }, 'the kill was not')
})

t.test('an eviction', async (t) => {
  const pod = await start('evicted', { hook: 'echo "$KUBE_POD_TERM_REASON"' })
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', namespace: 'default' } }
  await client.create(pods, eviction, { namespace: 'default', name: 'evicted', subresource: 'eviction' } as never)
  await pod.untilDeleted()
  const record = await recordOf('evicted')
  t.match(record, { reason: 'Eviction', cause: 'PodDeleted', requests: [{ user: admin, reason: 'Eviction' }] })
  t.equal(record.containers?.[0]?.steps[0]?.output, 'Eviction\n', 'the hook is told')
})

t.test('with its namespace', async (t) => {
  const namespace = 'going'
  await client.create(namespaces, { metadata: { name: namespace } })
  await until(
    () =>
      client
        .get({ group: '', version: 'v1', plural: 'serviceaccounts' }, { namespace, name: 'default' })
        .catch(() => undefined),
    { what: 'its account' },
  )
  const pod = await start('tenant', { namespace })
  await client.delete(namespaces, { name: namespace }, { reason: 'Decommissioned' })
  await pod.untilDeleted()
  const gone = () =>
    client.get(namespaces, { name: namespace }).then(
      () => false,
      () => true,
    )
  await until(gone, { what: 'the namespace to go' })
  const record = await recordOf('tenant', namespace)
  const requests = [{ user: controllers, reason: 'Decommissioned' }]
  t.match(record, { reason: 'Decommissioned', requests }, 'the pods have the reason of the namespace')
})

t.test('a taint', async (t) => {
  const pod = await start('intolerant', { spec: { tolerations: [] } })
  const taints = [{ key: 'k', value: 'v', effect: 'NoExecute' }]
  await client.patch<Node>(nodes, { name: 'node-1' }, { spec: { taints } })
  await pod.untilDeleted()
  await client.patch<Node>(nodes, { name: 'node-1' }, { spec: { taints: [] } })
  t.match(await recordOf('intolerant'), { reason: 'IntolerableTaint', requests: [{ user: controllers }] })
})

t.test('a deadline', async (t) => {
  const pod = await start('late')
  await client.patch<Pod>(pods, { namespace: 'default', name: 'late' }, { spec: { activeDeadlineSeconds: 1 } })
  await pod.until(({ status }) => status?.phase === 'Failed', 'to fail')
  const record = await recordOf('late')
  t.match(record, { cause: 'DeadlineExceeded', phase: 'Failed', message: /was active on the node longer/ })
  t.equal(record.requests, undefined, 'nobody asked')
})

t.test('a probe, which the pod survives', async (t) => {
  await start('unwell', {
    change(pod) {
      const often = { periodSeconds: 1, failureThreshold: 1 }
      pod.spec.containers[0]!.livenessProbe = { exec: { command: ['false'] }, initialDelaySeconds: 3, ...often }
    },
  })
  const record = await recordOf('unwell')
  t.match(record, { cause: 'LivenessProbe', containers: [{ exitCode: 0 }] })
  t.equal(record.phase, undefined, 'the pod goes on')
})

t.test('what kubectl shows', async (t) => {
  const [version] = findKubectls().slice(-1)
  if (!version) return skipOrFail(t, 'no kubectl on this machine')
  await recordOf('talkative')
  await recordOf('intolerant')
  const run = (...args: string[]) => kubectl(t, version, kubeconfig, args)
  const { stdout: table } = await run('get', 'term')
  for (const line of table.split('\n')) t.ok(line.length <= 100, 'a hundred columns', { line })
  t.match(table, /^talkative\.\w+ +Update +kubernetes-admin +stopped in \d+\.\d s of 20 s +\d+s$/m)
  t.match(table, /^intolerant\.\w+ +IntolerableTaint +controller-manager +stopped in/m)
  const { stdout: description } = await run('describe', 'term', 'talkative')
  for (const line of [
    /^Reason: +Update$/m,
    /^ +User: +kubernetes-admin$/m,
    /^ +Name: +PreStop$/m,
    /^Verdict: +stopped/m,
  ])
    t.match(description, line)
})
