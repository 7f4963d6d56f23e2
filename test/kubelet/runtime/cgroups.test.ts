/** Limits that the kernel keeps: real processes that ask for more than they may have. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { PodLimits, ReachedLimit, ResourceLimits } from '../../../kubelet/runtime/container-runtime.ts'
import type { Cgroups } from '../../../kubelet/runtime/process/cgroups/cgroups.ts'
import { openCgroups } from '../../../kubelet/runtime/process/cgroups/open-cgroups.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, isAlive, type Node, recordOf, sh, startNode, texts } from './runtime-node.ts'

const MiB = 1024 * 1024
t.setTimeout(300_000)
const limitsOf = (limits: Partial<ResourceLimits>): ResourceLimits => ({ cpuShares: 2, ...limits })

async function limitedNode(
  t: Test,
  rootDir = scratchFolder(t, 'limits'),
): Promise<{ node: Node; cgroups: Cgroups } | undefined> {
  const cgroups = await openCgroups(path.join(rootDir, 'runtime'))
  if (typeof cgroups === 'string') return void skipOrFail(t, `no control groups can be made here: ${cgroups}`)
  return { node: await startNode(t, await possibleIsolation({ rootDir }), { rootDir, cgroups }), cgroups }
}

const sandboxOf = ({ runtime }: Node, podUid: string, limits: Partial<PodLimits>) =>
  runtime.startSandbox({
    podUid,
    namespace: 'default',
    name: podUid,
    hostNetwork: false,
    hostname: podUid,
    shareProcessNamespace: false,
    limits: { qos: 'Burstable', ...limitsOf(limits), ...limits },
    annotations: {},
  })

/** Asks for so much memory, uses all of it, and says so. */
const useMemory = (bytes: number): string => `perl -e '$| = 1; my $all = "x" x ${bytes}; print "used\\n"; sleep 1000'`

const left = ({ cgroups }: { cgroups: Cgroups }): string[] =>
  cgroups.roots().flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory() && /^pod|^[0-9a-f]{64}$/.test(entry.name))
      .map(({ parentPath, name }) => path.join(parentPath, name)),
  )

t.test('a container that uses more memory than it may have is ended; its neighbour lives', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node } = limited
  const { runtime } = node
  const reached: ReachedLimit[] = []
  runtime.onLimit?.((one) => reached.push(one))
  const sandbox = await sandboxOf(node, 'hungry', {})
  const greedy = await runtime.startContainer(
    configOf(node, sandbox, sh(useMemory(200 * MiB)), { limits: limitsOf({ memoryBytes: 48 * MiB }) }),
  )
  const modest = await runtime.startContainer(
    configOf(node, sandbox, sh(useMemory(20 * MiB)), {
      name: 'modest',
      limits: limitsOf({ memoryBytes: 48 * MiB }),
      logPath: path.join(node.rootDir, 'modest.log'),
    }),
  )
  await exited(runtime, greedy.id)
  t.match(await recordOf(runtime, greedy.id), { exitCode: 137, reason: 'OOMKilled' })
  t.same(reached, [{ limit: 'memory', podUid: 'hungry', container: 'c' }])
  await until(() => texts(modest.logPath).includes('used'), { what: 'the neighbour to have its memory' })
  t.match(await recordOf(runtime, modest.id), { state: 'running' })
  const [usage] = (await runtime.usage()).filter(({ name }) => name === 'modest')
  t.ok((usage?.memoryBytes ?? 0) >= 20 * MiB && (usage?.memoryBytes ?? 0) <= 48 * MiB, `counted: ${usage?.memoryBytes}`)
  t.ok((usage?.memory?.rssBytes ?? 0) >= 20 * MiB, 'as memory of its own')
  t.ok((usage?.cpuSeconds ?? 0) > 0)
  await runtime.stopContainer(modest.id, { signal: 'KILL', gracePeriodMs: 0 })
  await runtime.removeSandbox(sandbox.id)
  await until(() => left(limited).length === 0, { what: 'its groups to be gone' })
})

t.test('the pod’s own limit holds for all of its containers together', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node } = limited
  const sandbox = await sandboxOf(node, 'together', { memoryBytes: 64 * MiB })
  const started = []
  for (const name of ['a', 'b']) {
    const config = { name, limits: limitsOf({}), logPath: path.join(node.rootDir, `${name}.log`) }
    started.push(await node.runtime.startContainer(configOf(node, sandbox, sh(useMemory(40 * MiB)), config)))
  }
  const ended = async () =>
    (await node.runtime.list()).containers.filter(({ exitCode, reason }) => exitCode === 137 && reason === 'OOMKilled')
  await until(async () => (await ended()).length > 0, { what: 'one to be ended' })
  t.equal(started.length, 2)
})

t.test('processors: no more time than the quota, and the share that was asked for', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node } = limited
  const sandbox = await sandboxOf(node, 'busy', { cpuShares: 512 })
  // A tenth of a processor.
  const limits = limitsOf({ cpuShares: 512, cpuQuotaUs: 10_000 })
  const script = `perl -e 'my $end = time + 3; 1 while time < $end; printf "%.2f\\n", (times)[0] + (times)[1]'`
  const { id, logPath } = await node.runtime.startContainer(configOf(node, sandbox, sh(script), { limits }))
  await exited(node.runtime, id)
  const seconds = Number(texts(logPath)[0])
  t.ok(seconds > 0 && seconds < 1, `it had ${seconds} s in three seconds`)
})

t.test('a fork bomb is held, its pod ends at once, and its neighbours can fork', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node } = limited
  const { runtime } = node
  const bomb = await sandboxOf(node, 'bomb', { pids: 64 })
  const other = await sandboxOf(node, 'other', { pids: 64 })
  const reached: ReachedLimit[] = []
  runtime.onLimit?.((one) => reached.push(one))
  const script = `perl -e '$| = 1; while (1) { defined fork or print "no more\\n" and sleep 1000 }'`
  const { id, logPath } = await runtime.startContainer(configOf(node, bomb, sh(script), { limits: limitsOf({}) }))
  const calm = await runtime.startContainer(
    configOf(node, other, ['sleep', '1000'], { limits: limitsOf({}), logPath: path.join(node.rootDir, 'calm.log') }),
  )
  await until(() => texts(logPath).includes('no more'), { what: 'the limit to be reached' })
  const [usage] = await runtime.usage('bomb')
  t.ok((usage?.processes ?? 0) <= 64, `${usage?.processes} processes`)
  t.match(await runtime.execSync(calm.id, { command: sh('echo $(echo forked)') }), { output: 'forked\n' })
  await until(() => reached.some(({ limit, podUid }) => limit === 'podPidsLimit' && podUid === 'bomb'), {
    what: 'it to be told',
  })
  await runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
  await runtime.removeSandbox(bomb.id)
  await until(() => left(limited).every((folder) => !folder.includes('podbomb')), { what: 'its groups to be gone' })
})

t.test('what it may have changes while it runs', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node, cgroups } = limited
  const { runtime } = node
  const sandbox = await sandboxOf(node, 'grows', { memoryBytes: 32 * MiB, qos: 'Guaranteed' })
  const { id } = await runtime.startContainer(
    configOf(node, sandbox, sh(useMemory(8 * MiB)), { limits: limitsOf({ memoryBytes: 32 * MiB }) }),
  )
  const seen = async (): Promise<string> => {
    const files =
      cgroups.version === 1
        ? 'memory/memory.limit_in_bytes /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.shares'
        : 'memory.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.weight'
    const result = await runtime.execSync(id, { command: sh(`cat /sys/fs/cgroup/${files}`) })
    return result.output.trim().split('\n').join(' ')
  }
  t.equal(await seen(), cgroups.version === 1 ? `${32 * MiB} -1 2` : `${32 * MiB} max 100000 1`)
  const now = { cpuShares: 1024, cpuQuotaUs: 50_000, memoryBytes: 64 * MiB }
  runtime.resize?.('grows', { qos: 'Guaranteed', ...now }, new Map([['c', now]]))
  t.equal(await seen(), cgroups.version === 1 ? `${64 * MiB} 50000 1024` : `${64 * MiB} 50000 100000 100`)
  t.throws(
    () => runtime.resize?.('grows', { qos: 'Guaranteed', ...now }, new Map([['c', { ...now, memoryBytes: MiB }]])),
    /attempting to set memory limit \(1048576\) below current usage/,
  )
  t.match(await recordOf(runtime, id), { state: 'running' })
})

t.test('a command is kept within the limits of its container', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node } = limited
  const sandbox = await sandboxOf(node, 'beside', {})
  const { id } = await node.runtime.startContainer(
    configOf(node, sandbox, ['sleep', '1000'], { limits: limitsOf({ memoryBytes: 48 * MiB }) }),
  )
  const tree = await node.runtime.execSync(id, { command: sh('cat /proc/self/cgroup') })
  t.notMatch(tree.output, /podbeside/, 'it sees its own group as the root of all')
  const command = sh(`${useMemory(200 * MiB)}; true`)
  const result = await node.runtime.execSync(id, { command, timeoutMs: 20_000 })
  t.equal(result.outcome, 'exited')
  t.notMatch(result.output, /used/)
})

t.test('the next kubelet finds the groups, and removes those of pods that are gone', async (t) => {
  const limited = await limitedNode(t)
  if (!limited) return
  const { node, cgroups } = limited
  const kept = await sandboxOf(node, 'kept', {})
  const { id, pid } = await node.runtime.startContainer(
    configOf(node, kept, sh(useMemory(200 * MiB)), { limits: limitsOf({}) }),
  )
  cgroups.addPod({ podUid: 'gone', limits: { qos: 'Burstable', ...limitsOf({}) } })
  t.ok(left(limited).some((folder) => folder.includes('podgone')))
  await node.again()
  t.notOk(left(limited).some((folder) => folder.includes('podgone')))
  t.ok(isAlive(pid))
  t.ok(left(limited).some((folder) => folder.includes(id)))
})

t.test('all groups are gone when the shim has ended, also by force', async (t) => {
  const rootDir = scratchFolder(t, 'limits')
  const limited = await limitedNode(t, rootDir)
  if (!limited) return
  const { node, cgroups } = limited
  const sandbox = await sandboxOf(node, 'last', {})
  const script = 'setsid sleep 1000 & exec sleep 1000'
  await node.runtime.startContainer(configOf(node, sandbox, sh(script), { limits: limitsOf({}) }))
  t.ok(left(limited).length > 0)
  const shim = Number(readFileSync(path.join(rootDir, 'runtime', 'shim.pid'), 'utf8'))
  process.kill(shim, 'SIGKILL')
  await until(() => cgroups.roots().every((root) => !existsSync(root)), { what: 'the folders to be gone' })
})
