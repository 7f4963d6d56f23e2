/** Isolation `none`: what a container's processes leave behind ends with the container, wherever it went, as with a PID namespace. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import type { ContainerRuntime } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation, startShim } from '../../../kubelet/runtime/process/index.ts'
import { killIfThere } from '../../harness/processes.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, isAlive, type Node, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

/** Each writes the pid of the process that it leaves. */
const waysToLeave = {
  'in the background': 'sleep 1000 & echo $!',
  'in another session': 'setsid sleep 1000 & echo $!',
  'without its environment': 'env -i sleep 1000 & echo $!',
  'in another session, without its environment': 'env -i setsid sleep 1000 & echo $!',
  'as a daemon, which init would adopt': `env -i setsid sh -c 'sleep 1000 & echo $!'`,
  'as the child of a daemon': `env -i setsid sh -c 'setsid sh -c "sleep 1000 & echo \\$!; wait" &'`,
}
const ways = Object.values(waysToLeave)
/** Forks and ends, two thousand times: no process id of it is true for long. It holds a lock, and says when it is through. */
const hopper = `
  use POSIX;
  open my $lock, ">", shift; flock $lock, 6; print "hops\n"; close STDOUT;
  for (1 .. 2000) { fork and POSIX::_exit(0); setsid(); select undef, undef, undef, 0.001 }
  syswrite $lock, "through"`

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])

let containers = 0
/** A container that leaves these, and then runs `main`. */
async function leaving(
  node: Node,
  { runtime = node.runtime, pod, main = 'exec sleep 1000', scripts = ways }: Leaving,
): Promise<{ id: string; pid: number; left: number[] }> {
  const attempt = containers++
  const command = sh([...scripts, main].join('\n'))
  const { id, pid, logPath } = await runtime.startContainer(
    configOf(node, pod, command, { name: `c${attempt}`, attempt }),
  )
  await until(() => texts(logPath).length === scripts.length, { what: 'what it leaves' })
  const pids = texts(logPath).map(Number)
  left.push(...pids)
  return { id, pid, left: pids }
}
interface Leaving {
  runtime?: ContainerRuntime
  pod: Awaited<ReturnType<typeof sandboxOf>>
  main?: string
  scripts?: string[]
}

const living = (pids: number[]): number[] => pids.filter(isAlive)
const left: number[] = []
t.after(() => living(left).forEach(killIfThere))

t.test('in a pod of several containers', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const pod = await sandboxOf(runtime, 'pod')

  t.test('what a container left is gone when it has exited, and what others left is not', async (t) => {
    const go = path.join(node.rootDir, 'go')
    const [ends, killed, stays] = await Promise.all([
      leaving(node, { pod, main: `while [ ! -e ${go} ]; do sleep 0.02; done; exit 3` }),
      leaving(node, { pod }),
      leaving(node, { pod }),
    ])
    t.same(living([...ends.left, ...killed.left, ...stays.left]).length, 3 * ways.length, 'all run')
    await runtime.execSync(stays.id, { command: ['touch', go] })
    await exited(runtime, ends.id)
    t.same(living(ends.left), [], 'none is alive when the end is told')
    await runtime.stopContainer(killed.id, { signal: 'TERM', gracePeriodMs: 0 })
    t.same(living(killed.left), [], 'after SIGKILL')
    t.same(living(stays.left), stays.left)
    await runtime.stopContainer(stays.id, { signal: 'TERM', gracePeriodMs: 5_000 })
    t.same(living(stays.left), [], 'after SIGTERM')
  })

  t.test('a process whose parent has ended becomes a child of the main process, as of process 1', async (t) => {
    const { id, pid, left } = await leaving(node, {
      pod,
      scripts: [waysToLeave['as a daemon, which init would adopt']],
    })
    t.same(left.map(parentOf), [pid])
    await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 5_000 })
  })

  t.test('what a command left lives on with its container, and ends with it', async (t) => {
    const [one, other] = await Promise.all([leaving(node, { pod, scripts: [] }), leaving(node, { pod, scripts: [] })])
    const commands = ways.map(async (way, index) => {
      const file = path.join(node.rootDir, `left${index}`)
      await runtime.execSync(one.id, { command: sh(`(${way}) >${file}`) })
      return Number(await until(() => readFileSync(file, 'utf8').trim(), { what: `what a command leaves: ${way}` }))
    })
    const left = await Promise.all(commands)
    t.same(living(left), left, 'the commands have ended, what they left has not')
    await runtime.stopContainer(other.id, { signal: 'TERM', gracePeriodMs: 0 })
    t.same(living(left), left, 'nor with another container')
    await runtime.stopContainer(one.id, { signal: 'TERM', gracePeriodMs: 0 })
    t.same(living(left), [])
  })

  t.test('what forks again and again is caught', async (t) => {
    const lock = path.join(node.rootDir, 'hopper.lock')
    const { id, logPath } = await runtime.startContainer(
      configOf(node, pod, sh(`env -i perl -e '${hopper}' ${lock} & exec sleep 1000`), { attempt: containers++ }),
    )
    await until(() => texts(logPath).includes('hops'), { what: 'it to hop' })
    await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 0 })
    const isFree = 'open my $lock, "<", shift; exit !flock $lock, 6'
    t.equal(spawnSync('perl', ['-e', isFree, lock]).status, 0, 'none of it is there')
    t.equal(readFileSync(lock, 'utf8'), '', 'and it was not through')
  })

  t.test('a kubelet that starts again ends them with their container', async (t) => {
    const { id, left } = await leaving(node, { pod })
    const again = await node.again()
    t.same(living(left), left)
    await again.stopContainer(id, { signal: 'TERM', gracePeriodMs: 0 })
    t.same(living(left), [])
  })
})

t.test(
  'of a user who is not root',
  { skip: process.getuid?.() !== 0 && 'only root becomes another user' },
  async (t) => {
    const [program = ''] = startShim({ rootDir: '/' }).args
    const canRead = spawnSync('perl', ['-e', 'exit !-r shift', program], { uid: 65_534 }).status === 0
    if (!canRead) return skipOrFail(t, 'nobody may read our files here')
    const node = await startNode(t, undefined, { uid: 65_534 })
    const { id, left } = await leaving(node, { pod: await sandboxOf(node.runtime, 'nobody') })
    t.match(readFileSync(`/proc/${left[0]}/status`, 'latin1'), /^Uid:\s+65534\s/m)
    await node.runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 0 })
    t.same(living(left), [])
  },
)

t.test('of a pod with the PID namespace of the machine, where others have their own', async (t) => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  t.teardown(() => rmSync(rootDir, { recursive: true, force: true }))
  const capabilities = await possibleIsolation({ rootDir })
  if (capabilities.isolation !== 'pod') return skipOrFail(t, 'this machine gives us no namespaces')
  const node = await startNode(t, capabilities, { rootDir })
  const { id: _, ip: __, ...config } = await sandboxOf(node.runtime, 'own')
  const pod = await node.runtime.startSandbox({ ...config, podUid: 'host', hostPID: true })
  const { id, left } = await leaving(node, { pod })
  t.same(living(left), left)
  await node.runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 0 })
  t.same(living(left), [])
})

t.test('the next shim waits until the one before has ended all', async (t) => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  const first = await startNode(t, undefined, { rootDir })
  const { left } = await leaving(first, { pod: await sandboxOf(first.runtime, 'first') })
  const before = shimPid(first)
  process.kill(before, 'SIGSTOP')
  const { command, args } = startShim({ rootDir })
  const next = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  t.teardown(async () => {
    next.stdin.end()
    await until(() => !isAlive(next.pid ?? 0), { what: 'the next shim to have ended' })
    rmSync(rootDir, { recursive: true, force: true })
  })
  // It looks again and again; one that did not wait would have written its pid by then.
  const hasLooked = () => switchesOf(next.pid) > 30 || ![before, 0].includes(shimPid(first))
  await until(hasLooked, { what: 'it to wait' })
  t.equal(shimPid(first), before)
  first.shim.kill('SIGKILL')
  await until(() => ![before, 0].includes(shimPid(first)), { what: 'the next shim' })
  t.same(living(left), [])
})

/** How often it has slept. */
const switchesOf = (pid = 0): number =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])

/** The shim and its guard are two processes, of which either may be killed. */
const endings = {
  'the supervisor is gone': (node: Node) => node.shim.stdin?.end(),
  'the shim is asked to end': ({ rootDir }: Node) =>
    writeFileSync(path.join(rootDir, 'runtime', 'requests'), 'forget\tnothing\t.\nend\t.\n'),
  'the shim is killed': (node: Node) => process.kill(shimPid(node), 'SIGKILL'),
  'the guard of the shim is killed': (node: Node) => node.shim.kill('SIGKILL'),
  'the guard is killed while the shim is stopped': (node: Node) => {
    process.kill(shimPid(node), 'SIGSTOP')
    node.shim.kill('SIGKILL')
  },
}
/** 0 while none is there. */
function shimPid({ rootDir }: Node): number {
  try {
    return Number(readFileSync(path.join(rootDir, 'runtime', 'shim.pid'), 'utf8'))
  } catch {
    return 0
  }
}

for (const [name, end] of Object.entries(endings))
  t.test(`nothing is left when ${name}`, async (t) => {
    const node = await startNode(t)
    const pod = await sandboxOf(node.runtime, 'end')
    const one = await leaving(node, { pod })
    const other = spawn('sleep', ['1000'], { detached: true })
    t.teardown(() => other.kill('SIGKILL'))
    const pids = [shimPid(node), node.shim.pid ?? 0, one.pid, ...one.left]
    end(node)
    await until(() => living(pids).length === 0, { what: 'all to be gone', timeoutMs: 20_000 }).catch(() => {})
    t.same(living(pids), [])
    t.ok(isAlive(other.pid ?? 0), 'a process that is nobody’s lives on')
  })
