/** `kubectl delete --reason`, through the shim and the plugin, with every kubectl of this machine; and the records of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, type Kubectl } from '../harness/kubectl.ts'
import { followPod, isReady, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { shimShell, startWitness } from '../harness/reasons.ts'
import { until } from '../harness/until.ts'
import { endsAndMiddle } from '../harness/versions.ts'

const namespace = 'default'
const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const folder = mkdtempSync(join(tmpdir(), 'kubestage-reasons-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const shellWith = (kubectl: Kubectl) => shimShell(kubectl, { kubeconfig, folder })
const startPod = (name: string) => startWitness(name, { client, folder })

const recordOf = (name: string): Promise<Termination> =>
  until(
    async () => {
      const { items } = await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${name}` })
      return items[0]
    },
    { what: `the record of ${name}` },
  )

const kubectls = endsAndMiddle(findKubectls())
const newest = kubectls.at(-1)

t.test('kubectl delete --reason', { skip: !newest && 'no kubectl here' }, async (t) => {
  for (const kubectl of kubectls) {
    const run = shellWith(kubectl)
    const name = `web-${kubectl.version.replace('.', '-')}`
    const reason = 'resolve issue 354961'
    const told = await startPod(name)
    const answer = await run(['delete', 'po', name, `--reason=${reason}`])
    t.match(answer, { code: 0, stderr: '' }, `kubectl ${kubectl.version}`)
    t.match(answer.stdout, `pod "${name}" deleted`)
    t.equal(told(), `${reason}\n--reason=${reason}\n`, 'the hook is told, by variable and by flag')
    const record = await recordOf(name)
    t.match(record, {
      reason,
      cause: 'PodDeleted',
      phase: 'Succeeded',
      verdict: /^stopped in \d+\.\d s of 30 s$/,
      requests: [{ user: 'kubernetes-admin', reason }],
      containers: [
        {
          name: 'main',
          exitCode: 0,
          steps: [
            { name: 'PreStop', outcome: 'Succeeded', exitCode: 0, output: `--reason=${reason}\n` },
            { name: 'SIGTERM', outcome: 'Caught', startTime: String, endTime: String },
          ],
        },
      ],
    })
  }
})

t.test('a reason in any words, anywhere', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const reason = `größe "x" \\ it's → 変更`
  const told = await startPod('any-words')
  t.match(await run(['-n', 'default', 'delete', '--reason', reason, 'pod/any-words']), { code: 0 })
  t.equal(told(), `${reason}\n--reason=${reason}\n`, 'any words reach the hook')
  t.match(await run(['delete', 'pod', 'x', '--reason']), { code: 1, stderr: /flag needs an argument: --reason/ })
  t.match(await run(['delete', 'pod', 'x', '--reason=']), { code: 1, stderr: /must not be empty|not found/ })
  t.match(await run(['delete', 'pod', 'x', '--', '--reason=y']), { code: 1, stderr: /pods "x" not found/ })
})

t.test('a raw DELETE takes the reason along', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const reason = 'no longer lost'
  for (const [name, args] of Object.entries({
    'raw-one': ['delete', '--raw=/api/v1/namespaces/default/pods/raw-one', `--reason=${reason}`],
    'raw-two': ['delete', '--reason', reason, '--raw', '/api/v1/namespaces/default/pods/raw-two?gracePeriodSeconds=5'],
  })) {
    const told = await startPod(name)
    t.match(await run(args), { code: 0, stderr: '' }, name)
    t.match(await recordOf(name), { reason, requests: [{ reason }] })
    t.equal(told(), `${reason}\n--reason=${reason}\n`)
  }
  t.match(await run(['delete', '--reason=x', '--raw']), { code: 1, stderr: /flag needs an argument: --raw/ })
})

t.test('a client that knows no reasons, such as helm uninstall', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const charts = 'charts'
  const kubectl = async (args: string[], input?: string): Promise<void> => {
    t.match(await run(['-n', charts, ...args], { file: newest!.file, input }), { code: 0 }, args.join(' '))
  }
  const started = async (name: string): Promise<void> => {
    await kubectl(['create', 'deployment', name, '--image=busybox', '--', 'sh', '-c', politeScript])
    await kubectl(['wait', '--for=condition=Available', `deployment/${name}`, '--timeout=60s'])
  }
  const reasonOf = async (name: string): Promise<string | undefined> => {
    const about = { namespace: charts, fieldSelector: `workload=Deployment/${name}` }
    const record = async () => (await client.list<Termination>(terminations, about)).items[0]
    return (await until(record, { what: `the record of ${name}` })).reason
  }
  const reason = 'the shop moves'
  await kubectl(['create', 'namespace', charts])

  await started('annotated')
  await kubectl(['annotate', 'deployments,pods', '-l', 'app=annotated', `kubestage.dev/termination-reason=${reason}`])
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
  const path = `/apis/apps/v1/namespaces/${charts}/deployments/annotated`
  await kubectl(['delete', `--raw=${path}`, '-f', '-'], JSON.stringify(options))
  t.equal(await reasonOf('annotated'), reason)

  await started('addressed')
  const server = `${cluster.access.server}/kubestage-reason-${Buffer.from(reason).toString('base64url')}`
  await kubectl([`--server=${server}`, 'delete', 'deployment', 'addressed'])
  t.equal(await reasonOf('addressed'), reason)
})

t.test('help and completion of delete name --reason', { skip: !newest && 'no kubectl here' }, async (t) => {
  for (const kubectl of kubectls) {
    const run = shellWith(kubectl)
    const { version, file } = kubectl
    const ours = "    --reason='':\n\tWhy the objects are deleted."
    for (const args of [
      ['delete', '--help'],
      ['help', 'delete'],
      ['delete', 'pod', 'x', '--reason=y', '-h'],
      ['kubestage', 'delete', '--help'],
    ]) {
      const { code, stdout } = await run(args)
      t.equal(code, 0)
      t.equal(stdout.split(ours).length, 2, `${args.join(' ')}, kubectl ${version}`)
      const theirs = stdout.replace(/ {4}--reason=.*\n.*\n\n/, '')
      t.equal(theirs, (await run(['delete', '--help'], { file })).stdout, 'the rest is kubectl’s own help')
    }
    const complete = async (...words: string[]) => (await run(['__complete', ...words])).stdout.split('\n')
    const flags = async (...words: string[]) => (await complete(...words)).map((line) => line.split('\t')[0])
    t.ok((await flags('delete', 'pod', '--re')).includes('--reason'))
    t.ok((await flags('delete', '--')).includes('--recursive'), 'and kubectl’s own flags')
    t.notOk((await flags('delete', '--reason=x', '--re')).includes('--reason'), 'once')
    t.notOk((await flags('get', '--re')).includes('--reason'), 'not of other commands')
    t.same(await complete('delete', 'pod', '--reason', ''), [':4', ''], 'free text has no completion')
    const names = await complete('delete', 'node', '--reason', 'x', '')
    t.ok(names.includes('node-1'), 'names are completed after a reason')
  }
  for (const args of [
    ['get', '--help'],
    ['help', 'get'],
    ['help'],
    ['__complete', 'get', 'node', ''],
    ['__complete', 'de'],
  ]) {
    const run = shellWith(newest!)
    t.same(await run(args), await run(args, { file: newest!.file }), args.join(' '))
  }
})

t.test('every other command is kubectl, untouched', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const { file } = newest!
  for (const args of [
    ['get', 'nodes', '-o', 'name'],
    ['get', 'pod', 'nobody'],
    ['delete', 'pod', 'nobody'],
    ['--bogus'],
  ]) {
    t.same(await run(args), await run(args, { file }), args.join(' '))
  }
  const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'by-stdin' } })
  t.match(await run(['apply', '-f', '-'], { input: manifest }), { code: 0, stdout: 'configmap/by-stdin created\n' })
})

t.test('a grace of 0 needs --force', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  await Promise.all(['gently', 'by-force'].map(startPod))
  t.match(await run(['delete', 'pod', 'gently', '--grace-period=0']), { code: 0 })
  const { requests } = await recordOf('gently')
  t.match(requests, [{ gracePeriodSeconds: 1 }], 'without it kubectl asks for one second, and waits')
  t.match(await run(['delete', 'pod', 'by-force', '--grace-period=0', '--force']), { code: 0 })
  const forced = await recordOf('by-force')
  t.match(forced.requests, [{ gracePeriodSeconds: 0 }], 'with it for none')
})

t.test('the plugin', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const reason = 'the rack moves'
  const deleted = await startPod('plugin-delete')
  t.match(await run(['kubestage', 'delete', 'po', 'plugin-delete', `--reason=${reason}`]), { code: 0 })
  t.equal(deleted(), `${reason}\n--reason=${reason}\n`, 'kubectl kubestage delete --reason')

  const evicted = await startPod('plugin-evict')
  const eviction = await run(['kubestage', 'evict', 'plugin-evict', '--reason', reason, '--grace-period=5'])
  t.match(eviction, { code: 0, stdout: 'pod/plugin-evict evicted\n', stderr: '' })
  t.match(await recordOf('plugin-evict'), {
    reason,
    gracePeriodSeconds: 5,
    requests: [{ user: 'kubernetes-admin', reason }],
  })
  t.equal(evicted(), `${reason}\n--reason=${reason}\n`)
  t.match(await run(['kubestage', 'evict', 'nobody', '--reason=x']), { code: 1, stderr: /pods "nobody" not found/ })

  const drained = await startPod('plugin-drain')
  t.match(await run(['kubestage', 'drain', 'node-1', '--force', `--reason=${reason}`]), {
    code: 0,
    stdout: /node\/node-1 drained/,
  })
  t.equal(drained(), `${reason}\n--reason=${reason}\n`)
  t.match(await run(['uncordon', 'node-1']), { code: 0 })

  const undriven = await startPod('plain-drain')
  t.match(await run(['drain', 'node-1', '--force']), { code: 0 })
  t.equal(undriven(), 'Eviction\n--reason=Eviction\n', 'without words of one’s own it is an eviction')
  t.match(await run(['uncordon', 'node-1']), { code: 0 })
})

t.test('what kubectl shows of it', { skip: !newest && 'no kubectl here' }, async (t) => {
  const run = shellWith(newest!)
  const table = await run(['get', 'term'])
  const lines = table.stdout.trimEnd().split('\n')
  t.match(lines[0], /^NAME +REASON +ASKED BY +VERDICT +AGE$/)
  t.match(
    lines.find((line) => line.startsWith('plugin-evict.')),
    /the rack moves +kubernetes-admin +stopped in \d+\.\d s of 5 s/,
  )
  for (const line of lines) t.ok(line.length <= 100, line)
  const { metadata } = await recordOf('plugin-delete')
  t.match((await run(['describe', 'terminations', metadata.name!])).stdout, /Verdict: +stopped in/)
  t.match((await run(['explain', 'terminations.verdict'])).stdout, /What happened, in words/)
})

t.test('each container has its own steps', async (t) => {
  const polite = ['sh', '-c', politeScript]
  const image = 'busybox'
  const talkative = ['sh', '-c', 'seq 1 10000; exit 4']
  const pod = podOf({
    name: 'crowd',
    command: ['sh', '-c', 'trap "sleep 0.5; exit 0" TERM; while :; do sleep 0.05; done'],
  })
  pod.spec.containers.push(
    { name: 'talkative', image, command: polite, lifecycle: { preStop: { exec: { command: talkative } } } },
    { name: 'unanswered', image, command: polite, lifecycle: { preStop: { httpGet: { path: '/', port: 9 } } } },
  )
  pod.spec.initContainers = [{ name: 'sidecar', image, restartPolicy: 'Always', command: polite }]
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name: 'crowd' })
  await untilHandled(await followed.until(isReady, 'to be ready'))
  await client.delete(pods, { namespace, name: 'crowd' })
  const { containers = [], verdict } = await recordOf('crowd')
  t.match(verdict, /^main stopped in/, 'of the container that took longest by itself')
  const of = (wanted: string) => containers.find(({ name }) => name === wanted)
  t.match(of('sidecar')?.steps, [{ name: 'WaitForContainers' }, { name: 'SIGTERM' }])
  t.equal(containers.at(-1)?.name, 'sidecar', 'it ended last')
  t.match(of('unanswered')?.steps, [
    { name: 'PreStop', outcome: 'Failed', message: /connection refused/ },
    { name: 'SIGTERM' },
  ])
  t.match(of('unanswered')?.verdict, /; its preStop hook failed$/)
  const [hook] = of('talkative')?.steps ?? []
  t.match(hook, { name: 'PreStop', outcome: 'Failed', exitCode: 4 })
  t.match(hook?.output, /^1\n2\n.*\n… \d+ bytes left out …\n.*\n9999\n10000\n$/s)
  t.ok(Buffer.byteLength(hook?.output ?? '') < 8 * 1024 + 100, 'what it printed is bounded')
})

t.test('a container that its probe ends', async (t) => {
  const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
  const pod = podOf({ name: 'unwell', command: ['sh', '-c', politeScript] })
  Object.assign(pod.spec.containers[0]!, { livenessProbe })
  pod.spec.terminationGracePeriodSeconds = 2
  await client.create(pods, pod, { namespace })
  const record = await recordOf('unwell')
  t.match(record, { cause: 'LivenessProbe', podName: 'unwell', gracePeriodSeconds: 2 })
  t.equal(record.requests, undefined, 'nobody asked for it')
})
