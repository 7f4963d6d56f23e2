/** Containers of a real containerd, driven by the CRI. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { ContainerConfig, ReachedLimit } from '../../../kubelet/runtime/container-runtime.ts'
import { createCriRuntime } from '../../../kubelet/runtime/cri/index.ts'
import type { LogLimits } from '../../../kubelet/runtime/log-files.ts'
import type { Termination } from '../../../shared/api/termination.ts'
import type { Node, Pod } from '../../../shared/api/types.ts'
import { nodes, pods, terminations } from '../../../shared/client/resources.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { kubeletPid, startTestCluster } from '../../harness/cluster.ts'
import { busyboxImage, type Containerd, startContainerd, whyNoContainerd } from '../../harness/containerd.ts'
import { findKubectls, kubectl } from '../../harness/kubectl.ts'
import { byeScript, followPod, isReady } from '../../harness/pods.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { sandboxOf, texts } from './runtime-node.ts'
import { runtimeSuite } from './suite.ts'

const namespace = 'default'
const why = whyNoContainerd()
if (why) skipOrFail(t, why)
else {
  const containerd = await startContainerd(t)
  runtimeSuite('cri', (t) => runtimeOf(t, containerd))
  void t.test('what the suite does not ask', (t) => moreOf(t, containerd))
  void t.test('the life and death of a pod', (t) => lifeAndDeath(t, containerd))
}

async function runtimeOf(t: Test, { endpoint }: Containerd, logs?: LogLimits) {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  const runtime = await createCriRuntime({
    endpoint,
    rootDir,
    nodeIP: '127.0.0.1',
    clock: realClock,
    logs,
    warn: (message, fields) => t.comment(message, fields),
  })
  t.teardown(async () => {
    const { sandboxes } = await runtime.list()
    for (const { id } of sandboxes) await runtime.removeSandbox(id)
    await runtime.close()
    rmSync(rootDir, { recursive: true, force: true })
  })
  return {
    runtime,
    rootDir,
    // As PID 1 a program does not end of TERM.
    sandbox: { shareProcessNamespace: true },
    image: { image: busyboxImage, imageId: busyboxImage },
    ignoresTerm: ({ logPath }: { logPath: string }) =>
      until(() => texts(logPath).includes('ready'), { what: 'TERM to be ignored' }),
  }
}

const script =
  'echo "$GREETING from $(hostname)"; trap "echo bye; exit 0" TERM; touch /tmp/ready; while :; do sleep 0.1; done'
const hook = 'echo "$KUBE_POD_TERM_REASON, $GREETING" > /dev/termination-log; echo "hook $0"'
const volumeMounts = [{ name: 'shared', mountPath: '/shared' }]
const image = busyboxImage
const app: Pod = {
  metadata: { name: 'app', namespace },
  spec: {
    terminationGracePeriodSeconds: 60,
    initContainers: [
      { name: 'side', image, restartPolicy: 'Always', command: ['sh', '-c', byeScript('/shared/side')], volumeMounts },
      { name: 'first', image, command: ['sh', '-c', 'echo made > /shared/first'], volumeMounts },
    ],
    containers: [
      {
        name: 'main',
        image,
        command: ['sh', '-c', script],
        volumeMounts,
        readinessProbe: { exec: { command: ['cat', '/tmp/ready'] }, periodSeconds: 1 },
        lifecycle: { preStop: { exec: { command: ['sh', '-c', hook, '--reason=$(KUBE_POD_TERM_REASON)'] } } },
        resources: { limits: { memory: '64Mi' } },
      },
    ],
    volumes: [{ name: 'shared', emptyDir: {} }],
  },
}

async function lifeAndDeath(t: Test, containerd: Containerd): Promise<void> {
  const program = findKubectls().at(-1)
  if (!program) return skipOrFail(t, 'no kubectl on this machine')
  const cluster = await startTestCluster(t, '--runtime', `cri:${containerd.endpoint}`)
  const { client, kubeconfig } = cluster
  const run = (...args: string[]) => kubectl(t, program, kubeconfig, args)
  const [node] = (await client.list<Node>(nodes)).items
  t.match(node?.status?.nodeInfo?.containerRuntimeVersion, /^containerd:\/\/\d/)

  await client.create(pods, app, { namespace })
  const followed = await followPod(client, { namespace, name: 'app' })
  const started = await followed.until(isReady, 'to be ready')
  t.match(started.status?.podIP, /^10\./, 'its address is of the CNI network')
  t.equal((await run('logs', 'app', '-c', 'main')).stdout, 'hello from app\n')
  const exec = (...command: string[]) => run('exec', 'app', '-c', 'main', '--', ...command)
  const shown = await exec('sh', '-c', 'cat /shared/first; echo oops >&2; exit 3')
  t.match(shown, { code: 3, stdout: 'made\n', stderr: /^oops\n/ })
  t.match(await exec('no-such'), { code: 1, stderr: /executable file not found/ })

  const idOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.containerID
  const before = kubeletPid(cluster)
  process.kill(before, 'SIGKILL')
  await until(() => kubeletPid(cluster) !== before, { what: 'the next kubelet' })
  await until(async () => (await exec('pwd')).code === 0, { what: 'the next kubelet to answer' })
  t.equal(
    idOf(await client.get<Pod>(pods, { namespace, name: 'app' })),
    idOf(started),
    'containers outlive the kubelet',
  )

  await client.delete(pods, { namespace, name: 'app' }, { reason: 'Update' })
  const events = await followed.untilDeleted()
  const last = events.findLast(({ type }) => type === 'MODIFIED')?.object.status
  t.match(last?.containerStatuses?.[0]?.state?.terminated, { exitCode: 0, message: 'Update, hello\n' })
  const ended = ({ podName, endTime }: Termination) => podName === 'app' && endTime
  const record = await until(async () => (await client.list<Termination>(terminations)).items.find(ended), {
    what: 'the record',
  })
  t.match(record, {
    reason: 'Update',
    containers: [
      {
        name: 'main',
        exitCode: 0,
        steps: [{ name: 'PreStop', outcome: 'Succeeded', output: 'hook --reason=Update\n' }, { name: 'SIGTERM' }],
      },
      { name: 'side', exitCode: 0, steps: [{ name: 'WaitForContainers' }, { name: 'SIGTERM' }] },
    ],
  })
  await until(async () => (await containerd.ctr('containers', 'ls', '-q')).trim() === '', {
    what: 'nothing to be left',
  })
}

/** Beside the suite: streams, what the CRI has no field for, limits, logs, and a runtime that is killed. */
async function moreOf(t: Test, containerd: Containerd): Promise<void> {
  const { runtime, rootDir } = await runtimeOf(t, containerd, { fileBytes: 1_000, files: 3 })
  const sandbox = await sandboxOf(runtime, 'more')
  const start = (name: string, command: string[], more: Partial<ContainerConfig> = {}) =>
    runtime.startContainer({
      sandboxId: sandbox.id,
      name,
      attempt: 0,
      ...{ image, imageId: image, command, env: {}, path: [], annotations: {} },
      logPath: path.join(rootDir, `${name}.log`),
      stdin: false,
      tty: false,
      ...more,
    })
  const recordOf = async (wanted: string) => (await runtime.list('more')).containers.find(({ id }) => id === wanted)
  const { id } = await start('web', ['busybox', 'httpd', '-f', '-p', '8080', '-h', '/srv/data'])

  await t.test('a port, a terminal, and input that ends', async (t) => {
    const port = () => runtime.portForward(sandbox.id, 8080).catch(() => undefined)
    const socket = await until(port, { what: 'the port to be open' })
    socket.write('GET /shipped HTTP/1.0\r\n\r\n')
    t.match(await text(socket), /with the image/)
    const terminal = await runtime.exec(id, {
      command: ['sh'],
      stdin: true,
      tty: true,
      size: { width: 91, height: 33 },
    })
    let shown = ''
    terminal.stdout.on('data', (part) => {
      shown += part
    })
    const showsSize = (size: string) => {
      terminal.stdin?.write('busybox stty size\n')
      return shown.includes(size)
    }
    await until(() => showsSize('33 91'), { what: 'the first size' })
    terminal.resize?.({ width: 100, height: 44 })
    await until(() => showsSize('44 100'), { what: 'another size' })
    terminal.stdin?.write('exit 7\n')
    t.equal(await terminal.exitCode, 7)
    const pipe = await runtime.exec(id, { command: ['cat'], stdin: true, tty: false })
    pipe.stdin?.end('x'.repeat(300_000))
    const [copied, exitCode] = await Promise.all([text(pipe.stdout), pipe.exitCode])
    t.match([copied.length, exitCode], [300_000, 0])
  })

  await t.test('a command with variables', async (t) => {
    const run = (command: string[], timeoutMs?: number) =>
      runtime.execSync(id, { command, env: { A: 'b c' }, timeoutMs })
    const output = 'b c hello\n'
    t.same(await run(['sh', '-c', 'echo $A $GREETING; exit 4']), { outcome: 'exited', exitCode: 4, output })
    t.match(await run(['none']), { outcome: 'failed', message: /executable file not found/ })
    t.match(await run(['sleep', '100'], 300), { outcome: 'timeout' })
  })

  await t.test('a log that becomes too large, and a client that is attached', async (t) => {
    const shell = await start('shell', ['sh'], { stdin: true, stdinOnce: true })
    const attached = await runtime.attach(shell.id)
    attached.stdout.resume()
    attached.stdin?.write(`${'echo a line of twenty bytes;'.repeat(40)}\n`)
    const older = () => texts(path.join(rootDir, 'shell.log.1')).length === 40
    await until(older, { what: 'the log to be moved aside' })
    attached.stdin?.end('echo after; exit 5\n')
    t.equal(await attached.exitCode, 5)
    t.same(texts(path.join(rootDir, 'shell.log')), ['after'])
  })

  await t.test('a container that uses up its memory', async (t) => {
    const reached: ReachedLimit[] = []
    runtime.onLimit?.((limit) => void reached.push(limit))
    const limits = { cpuShares: 10, memoryBytes: 20 * 1024 * 1024 }
    const hog = await start('hog', ['busybox', 'tail', '/dev/zero'], { limits })
    const hasEnded = async () => (await recordOf(hog.id))?.state === 'exited'
    await until(hasEnded, { what: 'it to be killed' })
    t.match(await recordOf(hog.id), { exitCode: 137, reason: 'OOMKilled' })
    t.match(reached, [{ limit: 'memory', container: 'hog' }])
  })

  await t.test('a runtime that is killed', async (t) => {
    await containerd.kill()
    await until(() => runtime.problem?.(), { what: 'the problem to be seen' })
    await containerd.start()
    await until(() => runtime.problem?.() === undefined, { what: 'the runtime to be found again' })
    t.match(await recordOf(id), { state: 'running' }, 'its containers went on')
    const events: string[] = []
    runtime.onEvent(({ type, containerId }) => void events.push(`${type} ${containerId}`))
    await runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs: 1_000 })
    await until(() => events.includes(`exited ${id}`), { what: 'the event of its end' })
  })
}
