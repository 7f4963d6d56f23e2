/** Containers of a real containerd, driven by the CRI. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createCriRuntime } from '../../../kubelet/runtime/cri/index.ts'
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
import { texts } from './runtime-node.ts'
import { runtimeSuite } from './suite.ts'

const namespace = 'default'
const why = whyNoContainerd()
if (why) skipOrFail(t, why)
else {
  const containerd = await startContainerd(t)
  runtimeSuite('cri', (t) => runtimeOf(t, containerd))
  void t.test('the life and death of a pod', (t) => lifeAndDeath(t, containerd))
}

async function runtimeOf(t: Test, { endpoint }: Containerd) {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  const runtime = await createCriRuntime({
    endpoint,
    rootDir,
    nodeIP: '127.0.0.1',
    clock: realClock,
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
