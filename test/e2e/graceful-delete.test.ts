import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import type { DeleteOptions, Pod, PreStopHandler, WatchEvent } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectl, startKubectl } from '../harness/kubectl.ts'
import { deafScript, followPod, isReady, type PodOptions, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { endsAndMiddle } from '../harness/versions.ts'

const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const namespace = 'default'

t.test('kubectl: the five-minute tour', async (t) => {
  const versions = endsAndMiddle(findKubectls())
  if (!versions.length) return skipOrFail(t, 'no kubectl on this machine')
  for (const version of versions) {
    t.test(`kubectl ${version.version}`, async (t) => {
      const space = `kubectl-${version.version.replace('.', '-')}`
      const run = (...args: string[]) => kubectl(t, version, kubeconfig, ['-n', space, ...args])

      t.match((await run('get', 'nodes')).stdout, /^node-1 +Ready /m)
      t.match(await run('create', 'namespace', space), { code: 0 })
      t.match(await run('apply', '-f', 'examples/graceful-delete/pod.yaml'), { code: 0, stdout: 'pod/web created' })
      t.match(await run('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s'), {
        code: 0,
        stdout: 'pod/web condition met',
      })
      t.match(await run('apply', '-f', 'examples/graceful-delete/pod.yaml'), { code: 0, stdout: 'pod/web unchanged' })

      const logs = await run('logs', 'web')
      t.match(logs.stdout, /^working$/m)
      t.match((await run('get', 'pods')).stdout, /^NAME +READY +STATUS +RESTARTS +AGE\nweb +2\/2 +Running +0 +\d+s\n$/)
      t.match(
        (await run('get', 'pods', '-o', 'wide')).stdout,
        /^web +2\/2 +Running +0 +\d+s +127\.\d+\.\d+\.\d+ +node-1 +<none> +<none>$/m,
      )
      const description = (await run('describe', 'pod', 'web')).stdout
      for (const line of [
        /^Name: +web$/m,
        /^Node: +node-1\/127\.0\.0\.1$/m,
        /^Status: +Running$/m,
        /^ +Ready +True *$/m,
        /Normal +Scheduled +\S+ +default-scheduler +Successfully assigned \S+\/web to node-1/,
        /Normal +Started +\S+( \(.*\))? +kubelet +(spec\.containers\{worker\}: )?(Started container worker|Container started)/,
      ])
        t.match(description, line, 'kubectl describe')
      const since = /^ +State: +Running\n +Started: +\S+/m
      t.match(description, since, 'kubectl describe says since when a container runs')

      const pod = await followPod(client, { namespace: space, name: 'web' })
      const args = ['-n', space, 'logs', '-f', 'web', '--all-containers']
      const following = startKubectl(t, version, kubeconfig, args)
      await until(() => /^working$/m.test(following.printed()) && /^listening /m.test(following.printed()), {
        what: 'both logs to be followed',
      })
      t.match(
        await run('delete', '--raw', `/api/v1/namespaces/${space}/pods/web?reason=Update&gracePeriodSeconds=20`),
        { code: 0 },
      )
      const { stdout: printed } = await following.ended
      t.match(printed, /^KUBE_POD_TERM_REASON=Update$/m, 'the exec hook is told')
      t.match(printed, /^preStop: KUBE-POD-TERM-REASON: Update$/m, 'the HTTP hook is told')
      assertGone(t, await pod.untilDeleted())
      const absent = { code: 1, stderr: 'Error from server (NotFound): pods "web" not found' }
      t.match(await run('get', 'pod', 'web'), absent, 'the object is gone for every client')
      t.match(await run('delete', 'namespace', space), { code: 0 })
    })
  }
})

/** MODIFIED with the deletion and its reason; a status with terminal phase and exit codes; DELETED. */
function assertGone(t: Test, events: WatchEvent<Pod>[]): void {
  const deletion = events.find(({ object }) => object.metadata.deletionTimestamp)
  const metadata = { reason: 'Update', deletionGracePeriodSeconds: 20 }
  t.match(deletion, { type: 'MODIFIED', object: { metadata } }, 'the deletion is marked first')
  const terminal = events.findLast(({ type }) => type === 'MODIFIED')?.object.status
  t.equal(terminal?.phase, 'Succeeded', 'then the phase is terminal')
  t.same(
    terminal?.containerStatuses?.map(({ state }) => state?.terminated?.exitCode),
    [0, 0],
  )
  t.equal(events.at(-1)?.type, 'DELETED', 'then the object is gone')
}

t.test('how a hook is told', async (t) => {
  const told = async (name: string, pod: Omit<PodOptions, 'name'>, options: DeleteOptions): Promise<string> => {
    const out = join(t.testdirName, name)
    const env = [
      { name: 'OUT', value: out },
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ]
    await client.create(pods, podOf({ ...pod, name, env, hostFolder: t.testdirName }), { namespace })
    const followed = await followPod(client, { namespace, name })
    await followed.until(isReady, 'to be ready')
    await client.delete(pods, { namespace, name }, options)
    await followed.untilDeleted()
    return existsSync(out) ? readFileSync(out, 'utf8') : ''
  }
  const polite = { command: ['sh', '-c', politeScript] }
  const exec = (...command: string[]) => ({ exec: { command: ['sh', '-c', ...command] } })
  const showReason = 'env | grep _REASON= >> $OUT'
  t.testdir()

  t.equal(
    await told('default-name', { ...polite, preStop: exec(showReason) }, { reason: 'Update' }),
    'KUBE_POD_TERM_REASON=Update\n',
    'a command is told by the default variable',
  )
  const ownName = { ...exec(showReason), reasonDelivery: { env: 'MY_REASON' } }
  const named = await told('own-name', { ...polite, preStop: ownName }, { reason: 'any words' })
  t.equal(named, 'MY_REASON=any words\n', 'or by the variable it names, alone')
  t.equal(
    await told('no-reason', { ...polite, preStop: exec(showReason) }, {}),
    '',
    'without a reason there is no variable',
  )
  const flag = exec('echo "$0" >> $OUT', '--reason=$(KUBE_POD_TERM_REASON)')
  const flagged = await told('flag', { ...polite, preStop: flag }, { reason: 'Update' })
  t.equal(flagged, '--reason=Update\n', 'or by a flag')

  const serve = `
    const { appendFileSync } = require('node:fs')
    require('node:http').createServer((request, response) => {
      const names = request.rawHeaders.filter((text, index) => index % 2 === 0 && /reason/i.test(text))
      for (const name of names) appendFileSync(process.env.OUT, name + ': ' + request.headers[name.toLowerCase()] + '\\n')
      response.end()
    }).listen(8080, process.env.POD_IP)
    process.on('SIGTERM', () => process.exit(0))`
  const server = {
    image: 'node:26',
    command: ['node', '--eval', serve],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  }
  const httpGet = { path: '/', port: 8080 }
  t.equal(
    await told('header', { ...server, preStop: { httpGet } }, { reason: 'Update' }),
    'KUBE-POD-TERM-REASON: Update\n',
    'a GET is told by the default header',
  )
  const ownHeader = { httpGet, reasonDelivery: { header: 'X-My-Reason' } }
  const headed = await told('own-header', { ...server, preStop: ownHeader }, { reason: 'Update' })
  t.equal(headed, 'X-My-Reason: Update\n', 'or by the header it names, alone')
  t.equal(await told('no-header', { ...server, preStop: { httpGet } }, {}), '', 'without a reason there is no header')
})

t.test('what is refused, and where', async (t) => {
  const refused = async (name: string, preStop: PreStopHandler): Promise<string[]> => {
    const error = await client
      .create(pods, podOf({ name, command: ['true'], preStop }), { namespace })
      .catch((error: StatusError) => error)
    t.equal((error as StatusError).code, 422, name)
    return (error as StatusError).status.details?.causes?.map(({ field = '' }) => field) ?? []
  }
  const at = 'spec.containers[0].lifecycle.preStop.reasonDelivery'
  const exec = { command: ['true'] }
  const httpGet = { path: '/', port: 80 }
  const withHeader = await refused('exec-header', { exec, reasonDelivery: { header: 'X' } })
  t.same(withHeader, [`${at}.header`], 'a header with a command')
  const emptyHeader = await refused('exec-empty-header', { exec, reasonDelivery: { header: '' } })
  t.ok(emptyHeader.includes(`${at}.header`), 'an empty header is one')
  const emptyEnv = await refused('http-empty-env', { httpGet, reasonDelivery: { env: '' } })
  t.ok(emptyEnv.includes(`${at}.env`), 'an empty variable is one')
  const withEnv = await refused('http-env', { httpGet, reasonDelivery: { env: 'X' } })
  t.same(withEnv, [`${at}.env`], 'a variable with a GET')
  for (const [name, handler] of Object.entries({ exec: { exec }, get: { httpGet } })) {
    const fields = await refused(`both-${name}`, { ...handler, reasonDelivery: { env: 'X', header: 'X' } })
    t.ok(fields.includes(at), 'both')
  }
  const unnamed = await refused('bad-env', { exec, reasonDelivery: { env: 'not a name' } })
  t.same(unnamed, [`${at}.env`], 'a variable that has no valid name')

  const sometimes = podOf({ name: 'sometimes', command: ['true'], spec: { restartPolicy: 'Sometimes' } })
  const unknown = await client.create(pods, sometimes, { namespace }).catch((error: StatusError) => error)
  const causes = [{ field: 'spec.restartPolicy' }]
  t.match(unknown, { code: 422, status: { details: { causes } } }, 'another restart policy')

  const probed = podOf({ name: 'probed', command: ['true'] })
  probed.spec.containers[0]!.readinessProbe = { exec, terminationGracePeriodSeconds: 5 }
  const error = await client.create(pods, probed, { namespace }).catch((error: StatusError) => error)
  t.match(error, { code: 422 })
  const field = 'spec.containers[0].readinessProbe.terminationGracePeriodSeconds'
  t.match(error, { status: { details: { causes: [{ field }] } } }, 'a grace period of a readiness probe')

  await client.create(pods, podOf({ name: 'lives-on', command: ['sh', '-c', politeScript] }), { namespace })
  const refusal = await client
    .delete(pods, { namespace, name: 'lives-on' }, { reason: 'two\nlines' })
    .catch((error: StatusError) => error)
  t.match(refusal, { code: 422 })
  t.match(refusal, { status: { details: { causes: [{ field: 'reason' }] } } })
  const alive = await client.get<Pod>(pods, { namespace, name: 'lives-on' })
  t.equal(alive.metadata.deletionTimestamp, undefined)
})

t.test('how a process ends', async (t) => {
  const start = async (name: string, script: string, spec: Partial<Pod['spec']>) => {
    await client.create(pods, podOf({ name, command: ['sh', '-c', script], spec }), { namespace })
    const pod = await followPod(client, { namespace, name })
    await untilHandled(await pod.until(({ status }) => status?.phase === 'Running', 'to run'))
    return pod
  }
  const terminal = (events: WatchEvent<Pod>[]) => {
    const status = events.findLast(({ type }) => type === 'MODIFIED')?.object.status
    const { terminated } = status?.containerStatuses?.[0]?.state ?? {}
    t.match(terminated, { reason: String, startedAt: String, finishedAt: String }, 'its reason, start and end')
    return { phase: status?.phase, exitCode: terminated?.exitCode }
  }
  const nowMs = () => realClock.monotonic()

  const polite = await start('polite', politeScript, { restartPolicy: 'Never' })
  await client.delete(pods, { namespace, name: 'polite' })
  t.same(terminal(await polite.untilDeleted()), { phase: 'Succeeded', exitCode: 0 }, 'exit code 0: Succeeded')

  const deaf = await start('deaf', deafScript, { terminationGracePeriodSeconds: 2 })
  const deafMs = nowMs()
  await client.delete(pods, { namespace, name: 'deaf' })
  t.same(terminal(await deaf.untilDeleted()), { phase: 'Failed', exitCode: 137 }, 'killed: Failed')
  t.ok(nowMs() - deafMs >= 2_000, 'it had its grace period')

  const marker = `forced-${process.pid}`
  const forced = await start('forced', `: ${marker}; ${deafScript}`, {})
  t.ok(processesWith(marker).length > 0)
  await client.delete(pods, { namespace, name: 'forced' }, { gracePeriodSeconds: 0 })
  await forced.untilDeleted()
  await until(() => processesWith(marker).length === 0, { what: 'the process to go', timeoutMs: 20_000 })
  t.pass('the process went, long before the 30 s of its grace')
})

t.test("a probe's own grace is what its failure gets", async (t) => {
  t.testdir({ healthy: '' })
  const healthy = join(t.testdirName, 'healthy')
  const pod = podOf({
    name: 'wedged',
    command: ['sh', '-c', deafScript],
    hostFolder: t.testdirName,
    spec: { terminationGracePeriodSeconds: 600 },
  })
  pod.spec.containers[0]!.livenessProbe = {
    exec: { command: ['test', '-e', healthy] },
    periodSeconds: 1,
    failureThreshold: 1,
    terminationGracePeriodSeconds: 1,
  }
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name: 'wedged' })
  await followed.until(isReady, 'to be ready')
  rmSync(healthy)
  const failedMs = realClock.monotonic()
  const restarted = await followed.until(
    ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    'to be restarted',
  )
  t.ok(realClock.monotonic() - failedMs < 60_000, 'within a minute, not after ten')
  t.match(restarted.status?.containerStatuses?.[0]?.lastState?.terminated, { exitCode: 137, reason: 'Error' })
  await client.delete(pods, { namespace, name: 'wedged' }, { gracePeriodSeconds: 0 })
  await followed.untilDeleted()
})
