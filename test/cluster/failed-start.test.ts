/** A Node that is refused a thread runs no JavaScript: it neither says why nor sees that its supervisor has ended. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasBegun } from '../../cluster/supervisor/has-begun.ts'
import { nodeIsReady } from '../../cluster/supervisor/node-ready.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type CommandRun, cli, startProgram } from '../harness/cluster.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { killIfThere, processesWith } from '../harness/processes.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const canLimit = process.platform === 'linux' && process.getuid?.() === 0
/** Where cgroups with a limit of processes are made; undefined: not here. */
const cgroups = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find(canMakeCgroups)
const noCgroups = 'only root of a machine with the pids controller of cgroups can limit processes so'
const noLimits = 'only root of a Linux can be another user, whose processes are limited'
/** Threads for an API server, not for a kubelet beside it. */
const tooFew = 12
/** Threads for an API server, and four for a kubelet beside it, which waits for more before it runs. */
const kubeletWaits = 15
const enough = 80
/** A user without a name, whose processes are those of one test. */
let user = 59_000 + (process.pid % 1000)

function canMakeCgroups(root: string): boolean {
  if (!canLimit) return false
  const probe = join(root, `kubestage-probe-${process.pid}`)
  try {
    mkdirSync(probe)
    const can = existsSync(join(probe, 'pids.max'))
    rmdirSync(probe)
    return can
  } catch {
    return false
  }
}

/** Starts `kubestage up` as an ordinary user, under a limit as `prlimit` takes it. */
function limitedUp(t: Test, limit: string): CommandRun & { stateDir: string } {
  user += 1000
  const place = mkdtempSync(join(tmpdir(), 'kubestage-limited-'))
  chmodSync(place, 0o777)
  const stateDir = join(place, 'state')
  const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups']
  const up = [process.execPath, cli, 'up', '--port=0', `--state-dir=${stateDir}`]
  const variables = { HOME: place, NODE_OPTIONS: '' }
  const command = startProgram(t, [limit, ...asUser, ...up], { node: 'prlimit', variables })
  t.teardown(() => {
    for (const pid of processesWith(stateDir)) killIfThere(pid)
    rmSync(place, { recursive: true, force: true })
  })
  return { ...command, stateDir }
}

const kubeletsIn = (stateDir: string): number[] => processesWith(join(stateDir, 'kubelet', 'config.json'))

const allEnd = (stateDir: string): Promise<unknown> =>
  until(() => processesWith(stateDir).length === 0, { what: 'all programs of the cluster to end', timeoutMs: 20_000 })

t.test('a cluster that may have too few threads says so', async (t) => {
  if (!canLimit) return skipOrFail(t, noLimits)
  const { ended, output, stateDir } = limitedUp(t, `--nproc=${tooFew}`)
  t.not(await ended, 0)
  t.match(output(), `this shell allows only ${tooFew} processes (ulimit -u): programs of the cluster may end`)
  t.match(output(), `a limit of this shell may be why: ${tooFew} processes (ulimit -u)\n`)
  await allEnd(stateDir)
})

t.test('a kubelet that gets too few threads ends with its API server', async (t) => {
  if (!canLimit) return skipOrFail(t, noLimits)
  const { child, ended, stateDir } = limitedUp(t, `--nproc=${kubeletWaits}`)
  await until(() => kubeletsIn(stateDir).length > 0, { what: 'the kubelet', timeoutMs: 30_000 })
  child.kill('SIGKILL')
  await ended
  await allEnd(stateDir)
})

t.test('a kubelet that runs outlives an API server of few threads, and ends its pods', async (t) => {
  if (!canLimit) return skipOrFail(t, noLimits)
  const { child, output, printed, stateDir } = limitedUp(t, `--nproc=${enough}`)
  await printed('is ready', 60_000)
  child.kill('SIGKILL')
  await until(() => output().includes('pods end in order now'), { what: 'the word of the kubelet' })
  await allEnd(stateDir)
})

t.test('a cluster of too little memory says so, and leaves nothing', async (t) => {
  if (!canLimit) return skipOrFail(t, noLimits)
  const { child, ended, printed, stateDir } = limitedUp(t, '--as=1600000000')
  await printed('this shell allows only 1525 MB of addresses (ulimit -v)', 30_000)
  await Promise.race([ended, until(() => kubeletsIn(stateDir).length > 0, { what: 'the kubelet', timeoutMs: 30_000 })])
  child.kill('SIGKILL')
  await allEnd(stateDir)
})

/** Starts `kubestage up` in a cgroup, whose `pids.max` is the file that is returned. */
function upInCgroup(t: Test, most: string): CommandRun & { stateDir: string; limit: string } {
  const cgroup = mkdtempSync(join(`${cgroups}`, 'kubestage-'))
  const limit = join(cgroup, 'pids.max')
  writeFileSync(limit, most)
  const stateDir = join(t.testdir(), 'state')
  const enter = 'echo $$ > "$0"; exec "$@"'
  const up = [process.execPath, cli, 'up', '--port=0', `--state-dir=${stateDir}`]
  const command = startProgram(t, ['-c', enter, join(cgroup, 'cgroup.procs'), ...up], { node: 'sh' })
  t.teardown(async () => {
    writeFileSync(limit, 'max')
    for (const pid of processesWith(stateDir)) killIfThere(pid)
    await until(() => readFileSync(join(cgroup, 'cgroup.procs'), 'utf8') === '', { what: 'the cgroup to be empty' })
    rmdirSync(cgroup)
  })
  return { ...command, stateDir, limit }
}

t.test('a cluster in a cgroup of too few processes says so', async (t) => {
  if (cgroups === undefined) return skipOrFail(t, noCgroups)
  const { ended, output, stateDir } = upInCgroup(t, `${tooFew}`)
  t.not(await ended, 0)
  t.match(
    output(),
    `this shell allows only ${tooFew} processes (pids.max of its cgroup): programs of the cluster may end`,
  )
  t.match(output(), `a limit of this shell may be why: ${tooFew} processes (pids.max of its cgroup)\n`)
  t.notMatch(output(), 'install perl')
  await allEnd(stateDir)
})

/** Threads for a Node that aborts, and for one that waits for ever. */
for (const [threads, said] of [
  [6, /the kubelet ended \(SIGABRT\).*; its containers run on; its last words: .*pthread_create: .*pids\.max/],
  [4, /the kubelet has not begun within 20 s; .*pids\.max of its cgroup/],
] as const)
  t.test(`a kubelet that is started again with ${threads} threads, until it gets more`, async (t) => {
    if (cgroups === undefined) return skipOrFail(t, noCgroups)
    const { output, printed, stateDir, limit } = upInCgroup(t, 'max')
    await printed('is ready', 60_000)
    const kubectl = (...args: string[]): string =>
      execFileSync('kubectl', [`--kubeconfig=${join(stateDir, 'kubeconfig')}`, ...args], { encoding: 'utf8' })
    kubectl('run', 'web', '--image=local', '--restart=Never', '--command', '--', 'sleep', '7201')
    kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s')
    const started = kubectl('get', 'pod/web', '-o=jsonpath={.status.containerStatuses}')
    const [kubelet = 0] = kubeletsIn(stateDir)
    const own = readdirSync(`/proc/${kubelet}/task`).length
    writeFileSync(limit, `${Number(readFileSync(join(limit, '..', 'pids.current'), 'utf8')) - own + threads}`)
    killIfThere(kubelet)
    await until(() => said.test(output()), { what: 'what the kubelet lacks', timeoutMs: 90_000 })
    writeFileSync(limit, 'max')
    await until(() => kubeletsIn(stateDir).some((pid) => pid !== kubelet && hasBegun(pid)), {
      what: 'a new kubelet',
      timeoutMs: 90_000,
    })
    t.equal(kubectl('get', 'pod/web', '-o=jsonpath={.status.containerStatuses}'), started)
    t.equal(kubectl('get', 'nodes', '-o=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'), 'True')
  })

t.test('a kubelet that never says anything', async (t) => {
  const { url, tls } = await startTestControlPlane(t)
  const client = createRestClient({ server: url, ...tls, clock: realClock })
  t.teardown(() => client.close())
  const logFile = join(t.testdir(), 'kubelet.log')
  await t.rejects(nodeIsReady({ client, clock: realClock, nodeName: 'node-1', timeoutMs: 100, logFile }), {
    message: `node node-1 was not ready within 0.1 s: its kubelet has not registered it; it wrote nothing to ${logFile}; check that it may have threads (ulimit -u, pids.max of its cgroup) and memory (ulimit -v)`,
  })
})
