import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type {
  ContainerConfig,
  ContainerRuntime,
  RuntimeCapabilities,
  RuntimeEvent,
  Sandbox,
} from '../../../kubelet/runtime/container-runtime.ts'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createProcessRuntime, possibleIsolation, startShim } from '../../../kubelet/runtime/process/index.ts'
import { markedProcesses, marker } from '../../../kubelet/runtime/process/marker.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'

interface Node {
  rootDir: string
  shim: ChildProcess
  runtime: ContainerRuntime
  /** As a kubelet that was killed and started again finds it. */
  again(): Promise<ContainerRuntime>
}

async function startNode(
  t: Test,
  capabilities: RuntimeCapabilities = { isolation: 'none', files: 'host' },
): Promise<Node> {
  // Not t.testdir(): two runs of this file beside each other would take each other's shim away.
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  const { command, args } = startShim({ rootDir })
  const shim = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  const runtimes: ContainerRuntime[] = []
  const open = async () => {
    const runtime = await createProcessRuntime({
      rootDir,
      clock: realClock,
      images: createImages({ commands: {}, paths: {} }),
      nodeIP: '127.0.0.1',
      supervised: true,
      capabilities,
      warn: () => {},
    })
    runtimes.push(runtime)
    return runtime
  }
  t.teardown(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.close()))
    shim.stdin?.end()
    await until(() => !isAlive(shim.pid ?? 0), { what: 'the shim to have ended' })
    rmSync(rootDir, { recursive: true, force: true })
  })
  return { rootDir, shim, runtime: await open(), again: open }
}

const sandboxOf = (runtime: ContainerRuntime, podUid: string, hostNetwork = false): Promise<Sandbox> =>
  runtime.startSandbox({
    podUid,
    namespace: 'default',
    name: podUid,
    hostNetwork,
    hostname: podUid,
    shareProcessNamespace: false,
    annotations: { note: 'kept' },
  })

function configOf(
  node: Node,
  sandbox: Sandbox,
  command: string[],
  more: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    sandboxId: sandbox.id,
    name: 'c',
    attempt: 0,
    image: 'busybox',
    imageId: 'sha256:0',
    command,
    env: {},
    path: [],
    logPath: path.join(node.rootDir, 'logs', sandbox.podUid, `${more.attempt ?? 0}.log`),
    stdin: false,
    tty: false,
    annotations: {},
    ...more,
  }
}

const sh = (script: string): string[] => ['sh', '-c', script]
const texts = (file: string): string[] =>
  (existsSync(file) ? readFileSync(file, 'utf8') : '')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ').slice(3).join(' '))
const isAlive = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')[2] !== 'Z'
  } catch {
    return false
  }
}
const recordOf = async (runtime: ContainerRuntime, id: string) => {
  const record = (await runtime.list()).containers.find((container) => container.id === id)
  if (!record) throw new Error(`no container ${id}`)
  return record
}
const exited = (runtime: ContainerRuntime, id: string) =>
  until(async () => (await recordOf(runtime, id)).state === 'exited', { what: `${id} to have exited` })

t.test('a container gets its environment and nothing else, its folder, and a log of whole lines', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'env')
  const command = ['env']
  const env = { PLAIN: "it's $HOME", 'dotted.name-1': 'x', EMPTY: '', LINES: 'two\nlines' }
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, command, { env, path: ['/opt/first'] }))
  await exited(runtime, id)
  const lines = texts(logPath)
  for (const line of ["PLAIN=it's $HOME", 'dotted.name-1=x', 'EMPTY=', 'HOSTNAME=env']) t.ok(lines.includes(line), line)
  t.ok(
    lines.some((line) => line.startsWith('PATH=/opt/first:')),
    'folders of the image come first',
  )
  const names = lines.filter((line) => line.includes('=')).map((line) => line.split('=')[0])
  t.same(
    names.sort(),
    ['EMPTY', 'HOME', 'HOSTNAME', 'KUBESTAGE_CONTAINER', 'LINES', 'PATH', 'PLAIN', 'dotted.name-1'].sort(),
    'nothing of ours leaks',
  )
  t.match(readFileSync(logPath, 'utf8').split('\n')[0], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F /)

  const folder = path.join(node.rootDir, 'made', 'for it')
  const there = await runtime.startContainer(
    configOf(node, sandbox, ['pwd'], { name: 'd', workingDir: folder, attempt: 1 }),
  )
  await exited(runtime, there.id)
  t.same(texts(there.logPath), [folder], 'a missing working directory is made')
})

t.test('signals have their default action, and standard input is empty', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'signals')
  const script = 'grep -E "SigIgn|SigBlk" /proc/self/status; cat; echo end'
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await exited(runtime, id)
  t.same(
    texts(logPath).map((line) => line.replace(/\s+/g, ' ')),
    ['SigBlk: 0000000000000000', 'SigIgn: 0000000000000000', 'end'],
  )
})

t.test('output keeps its order across both streams, is complete at the exit, and long lines are cut', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'output')
  const script = `for i in $(seq 500); do echo out $i; echo err $i >&2; done; head -c 20000 /dev/zero | tr '\\0' x; echo; printf last`
  const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await new Promise<void>((resolve) => {
    const stop = runtime.onEvent(({ type, containerId }) => {
      if (type !== 'exited' || containerId !== id) return
      stop()
      resolve()
    })
    recordOf(runtime, id).then(({ state }) => state === 'exited' && resolve())
  })
  const lines = texts(logPath)
  t.same(
    lines.slice(0, 1000),
    Array.from({ length: 1000 }, (_, i) => `${i % 2 ? 'err' : 'out'} ${Math.floor(i / 2) + 1}`),
  )
  t.same(
    lines.slice(1000).map((line) => line.length),
    [16384, 20000 - 16384, 4],
  )
  const tags = readFileSync(logPath, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(-3)
    .map((line) => line.split(' ')[2])
  t.same(tags, ['P', 'F', 'F'])
})

t.test('exit codes: its own, 128 and the signal, 128 for what cannot start', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'codes')
  const codeOf = async (command: string[], attempt: number) => {
    const { id } = await runtime.startContainer(configOf(node, sandbox, command, { attempt }))
    await exited(runtime, id)
    return (await recordOf(runtime, id)).exitCode
  }
  t.equal(await codeOf(['true'], 0), 0)
  t.equal(await codeOf(sh('exit 7'), 1), 7)
  t.equal(await codeOf(sh('kill -SEGV $$'), 2), 139)

  const script = path.join(node.rootDir, 'not-a-program')
  writeFileSync(script, 'echo hello\n', { mode: 0o755 })
  const failures: [string[], RegExp][] = [
    [['/no/such/cmd'], /exec: "\/no\/such\/cmd": stat \/no\/such\/cmd: no such file or directory$/],
    [['nosuchcmd'], /exec: "nosuchcmd": executable file not found in \$PATH$/],
    [['/etc/passwd'], /exec: "\/etc\/passwd": permission denied$/],
    [['/etc'], /exec: "\/etc": is a directory$/],
    [[script], /exec format error$/],
  ]
  for (const [command, message] of failures) {
    await t.rejects(runtime.startContainer(configOf(node, sandbox, command)), { message })
  }
  await t.rejects(runtime.startContainer(configOf(node, sandbox, ['true'], { workingDir: '/etc/passwd' })), {
    message: /error during container init: mkdir \/etc\/passwd: not a directory$/,
  })
  const failed = (await runtime.list()).containers.filter(({ reason }) => reason === 'StartError')
  t.equal(failed.length, failures.length + 1, 'each is listed')
  t.ok(failed.every(({ exitCode, state }) => exitCode === 128 && state === 'exited'))
})

t.test('TERM goes to the main process once; KILL takes everything that it started, wherever it went', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'stop')
  const script = `trap 'echo TERM' TERM; setsid sleep 1000 & echo $!; (sleep 1001 & echo $!); while :; do sleep 1 & wait $!; done`
  const { id, logPath, pid } = await runtime.startContainer(configOf(node, sandbox, sh(script)))
  await until(() => texts(logPath).length >= 2, { what: 'both children' })
  const children = texts(logPath).map(Number)
  const signals: string[] = []
  await runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs: 300, onSignal: (signal) => signals.push(signal) })
  t.same(signals, ['SIGTERM', 'SIGKILL'])
  t.equal((await recordOf(runtime, id)).exitCode, 137)
  t.same(texts(logPath).slice(2), ['TERM'])
  t.notOk(isAlive(pid))
  await runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs: 0 })
  t.pass('stopping what has stopped is nothing')
  await runtime.stopSandbox(sandbox.id)
  for (const child of children) {
    await until(() => !isAlive(child), { what: `process ${child} to be gone` })
    t.notOk(isAlive(child))
  }

  const other = await sandboxOf(runtime, 'handles')
  const handler = sh(`trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 1000 & wait $!; done`)
  const handling = await runtime.startContainer(configOf(node, other, handler))
  await until(() => texts(handling.logPath).includes('ready'), { what: 'ready' })
  await runtime.stopContainer(handling.id, { signal: 'TERM', gracePeriodMs: 10_000 })
  t.equal((await recordOf(runtime, handling.id)).exitCode, 3)
  t.same(texts(handling.logPath), ['ready', 'bye'])
})

t.test(
  'commands beside the container: environment on top, output bounded, timeout kills all, a bad command is no crash',
  async (t) => {
    const node = await startNode(t)
    const { runtime } = node
    const sandbox = await sandboxOf(runtime, 'exec')
    const config = configOf(node, sandbox, ['sleep', '1000'], { env: { A: 'a', B: 'b' }, workingDir: node.rootDir })
    const { id } = await runtime.startContainer(config)
    const result = await runtime.execSync(id, { command: sh('echo $A $B; pwd; exit 4'), env: { B: 'on top' } })
    t.same(result, { outcome: 'exited', exitCode: 4, output: `a on top\n${node.rootDir}\n` })

    const big = await runtime.execSync(id, {
      command: sh('echo first; head -c 3000000 /dev/zero; echo last'),
      maxOutputBytes: 1000,
    })
    t.ok(big.output.startsWith('first\n') && big.output.endsWith('last\n'))
    t.ok(big.output.length < 1200, 'only the beginning and the end are kept')

    const pidFile = path.join(node.rootDir, 'pid')
    const late = await runtime.execSync(id, { command: sh(`sleep 1000 & echo $! >${pidFile}; wait`), timeoutMs: 300 })
    t.equal(late.outcome, 'timeout')
    const orphan = Number(readFileSync(pidFile, 'utf8'))
    await until(() => !isAlive(orphan), { what: 'the command’s child to be gone' })
    t.notOk(isAlive(orphan))

    const bad = await runtime.execSync(id, { command: ['nope'] })
    t.equal(bad.outcome, 'failed')
    t.match(bad, { message: /exec: "nope": executable file not found in \$PATH: unknown$/ })

    const stopping = new AbortController()
    const aborted = runtime.execSync(id, { command: ['sleep', '1000'], signal: stopping.signal })
    stopping.abort()
    t.match(await aborted, { outcome: 'exited', exitCode: 137 })

    await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 5000 })
    t.match(await runtime.execSync(id, { command: ['true'] }), {
      outcome: 'failed',
      message: /no running task found: task [0-9a-f]{64} not found$/,
    })
  },
)

t.test(
  'two pods have two addresses, which are used again only when they are free; the host’s network has none',
  async (t) => {
    const { runtime } = await startNode(t)
    const [a, b, host] = [
      await sandboxOf(runtime, 'a'),
      await sandboxOf(runtime, 'b'),
      await sandboxOf(runtime, 'h', true),
    ]
    t.match(a.ip, /^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/)
    t.not(a.ip, b.ip)
    t.equal(host.ip, '127.0.0.1')
    await runtime.removeSandbox(a.id)
    t.same(
      (await runtime.list()).sandboxes.map(({ podUid }) => podUid),
      ['b', 'h'],
    )
  },
)

t.test('a kubelet that starts again finds what ran, what ended meanwhile, and every line', async (t) => {
  const node = await startNode(t)
  const first = node.runtime
  const sandbox = await sandboxOf(first, 'again')
  const go = path.join(node.rootDir, 'go')
  const waiting = `echo before; while [ ! -e ${go} ]; do sleep 0.02; done; echo after`
  const runs = await first.startContainer(
    configOf(node, sandbox, sh(`${waiting}; sleep 1000`), { annotations: { keep: 'me' } }),
  )
  const ends = await first.startContainer(
    configOf(node, sandbox, sh(`${waiting}; exit 9`), { name: 'e', logPath: path.join(node.rootDir, 'e.log') }),
  )
  const hook = path.join(node.rootDir, 'hook')
  await until(() => texts(ends.logPath).includes('before') && texts(runs.logPath).includes('before'), {
    what: 'before',
  })
  await first.close()
  const killed = spawn(process.execPath, [
    path.join(import.meta.dirname, 'kubelet-to-kill.ts'),
    node.rootDir,
    `echo $$ >${hook}; exec sleep 1000`,
  ])
  await until(() => existsSync(hook) && readFileSync(hook, 'utf8') !== '', { what: 'the hook' })
  killed.kill('SIGKILL')
  await until(() => killed.signalCode !== null, { what: 'the kubelet to be dead' })
  writeFileSync(go, '')
  await until(() => !isAlive(ends.pid), { what: 'its end while nobody looks' })

  const second = await node.again()
  const found = await recordOf(second, runs.id)
  t.match(found, {
    state: 'running',
    pid: runs.pid,
    attempt: 0,
    annotations: { keep: 'me' },
    startedAtMs: runs.startedAtMs,
  })
  await exited(second, ends.id)
  t.match(await recordOf(second, ends.id), { exitCode: 9 })
  t.same((await second.list()).sandboxes, [sandbox])
  await until(() => texts(runs.logPath).includes('after'), { what: 'what it wrote meanwhile' })
  t.same(texts(runs.logPath), ['before', 'after'])
  t.same(texts(ends.logPath), ['before', 'after'])
  const hookPid = Number(readFileSync(hook, 'utf8'))
  await until(() => !isAlive(hookPid), { what: 'the hook to die with its kubelet' })

  const events: RuntimeEvent[] = []
  second.onEvent((event) => events.push(event))
  await second.stopContainer(runs.id, { signal: 'TERM', gracePeriodMs: 5000 })
  t.same(events, [{ type: 'exited', podUid: 'again', containerId: runs.id }])
  t.equal((await recordOf(second, runs.id)).exitCode, 143)
})

t.test('when the supervisor is gone nothing stays: no container, no child that ran away, no shim', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'end')
  const { pid, logPath } = await runtime.startContainer(
    configOf(node, sandbox, sh('setsid sleep 1000 & echo $!; exec sleep 1000')),
  )
  await until(() => texts(logPath).length === 1, { what: 'its child' })
  const child = Number(texts(logPath)[0])
  node.shim.stdin?.end()
  for (const process of [pid, child, node.shim.pid ?? 0]) {
    await until(() => !isAlive(process), { what: `process ${process} to be gone` })
    t.notOk(isAlive(process))
  }
})

t.test('two hundred containers at once, each with its own exit', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const started = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const sandbox = await sandboxOf(runtime, `many-${i}`)
      return runtime.startContainer(configOf(node, sandbox, sh(`echo ${i}; exit ${i % 7}`)))
    }),
  )
  await until(async () => (await runtime.list()).containers.every(({ state }) => state === 'exited'), {
    what: 'all exits',
  })
  for (const [i, { id, logPath }] of started.entries()) {
    const { exitCode } = await recordOf(runtime, id)
    if (exitCode !== i % 7 || texts(logPath)[0] !== String(i))
      t.fail(`container ${i}: exit ${exitCode}, said ${texts(logPath)}`)
  }
  await Promise.all((await runtime.list()).sandboxes.map(({ id }) => runtime.removeSandbox(id)))
  t.same(await runtime.list(), { sandboxes: [], containers: [] })
  t.notOk(existsSync(started[0]?.logPath ?? ''))
})

async function processOne(t: Test, files: RuntimeCapabilities['files']): Promise<void> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  const isPossible = possible.isolation === 'pod' && (files === 'host' || possible.files === 'own')
  if (!isPossible) return skipOrFail(t, 'this machine gives us no namespaces')
  const node = await startNode(t, { isolation: 'pod', files })
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'isolated')

  const script = `echo $$; trap 'echo TERM; exit 4' TERM; while :; do sleep 1000 & wait $!; done`
  const main = await runtime.startContainer(configOf(node, sandbox, sh(script), { env: { A: 'a' } }))
  await until(() => texts(main.logPath).length === 1, { what: 'its process id' })
  t.same(texts(main.logPath), ['1'])
  t.ok(isAlive(main.pid), 'the record has the host’s number')
  const hook = await runtime.execSync(main.id, {
    command: sh('echo from the hook >/proc/1/fd/1; cat /proc/1/comm; echo $A $B; exit 6'),
    env: { B: 'b' },
  })
  t.same(hook, { outcome: 'exited', exitCode: 6, output: 'sh\na b\n' })
  await until(() => texts(main.logPath).includes('from the hook'), { what: 'the hook’s line in the log' })
  const late = await runtime.execSync(main.id, { command: ['sleep', '1000'], timeoutMs: 200 })
  t.equal(late.outcome, 'timeout')

  const again = await node.again()
  t.match(await recordOf(again, main.id), { state: 'running', pid: main.pid })
  await again.stopContainer(main.id, { signal: 'TERM', gracePeriodMs: 10_000 })
  t.match(await recordOf(again, main.id), { state: 'exited', exitCode: 4 })
  t.same(texts(main.logPath).slice(-1), ['TERM'])

  const deaf = await runtime.startContainer(
    configOf(node, sandbox, ['sleep', '1000'], {
      attempt: 1,
      name: 'deaf',
      logPath: path.join(node.rootDir, 'deaf.log'),
    }),
  )
  const signals: string[] = []
  const onSignal = (signal: string) => signals.push(signal)
  await runtime.stopContainer(deaf.id, { signal: 'TERM', gracePeriodMs: 300, onSignal })
  t.same(signals, ['TERM', 'SIGKILL'], 'process 1 without a handler is not ended by TERM')
  t.equal((await recordOf(runtime, deaf.id)).exitCode, 137)
  t.same(texts(deaf.logPath), [], 'nobody else writes to its log')

  const parent = await runtime.startContainer(
    configOf(node, sandbox, sh('setsid sleep 1000 & sleep 1001 & exec sleep 1002'), { attempt: 2 }),
  )
  const alive = () => (markedProcesses().get(marker(path.join(node.rootDir, 'runtime'), parent.id)) ?? []).length
  await until(() => alive() === 3, { what: 'its children' })
  await runtime.stopContainer(parent.id, { signal: 'TERM', gracePeriodMs: 0 })
  t.equal(alive(), 0, 'nothing outlives process 1')

  for (const [i, [command, code]] of (
    [
      [['true'], 0],
      [sh('exit 7'), 7],
      [sh('kill -SEGV $$; exit 8'), 8],
    ] as const
  ).entries()) {
    const { id } = await runtime.startContainer(configOf(node, sandbox, [...command], { attempt: 3 + i }))
    await exited(runtime, id)
    t.equal((await recordOf(runtime, id)).exitCode, code)
  }
  const crash = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], { attempt: 9 }))
  process.kill(crash.pid, 'SIGKILL')
  await exited(runtime, crash.id)
  t.equal((await recordOf(runtime, crash.id)).exitCode, 137)
}
for (const files of ['host', 'mounts', 'own'] as const)
  t.test(`with namespaces of its own: process 1, as in a container; files: ${files}`, (t) => processOne(t, files))

t.test(
  'a view of the files: volumes at their places, and what is written elsewhere goes with the container',
  async (t) => {
    if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
      return skipOrFail(t, 'this machine lets us mount nothing')
    const node = await startNode(t, { isolation: 'pod', files: 'own' })
    const { runtime } = node
    const sandbox = await sandboxOf(runtime, 'files')
    const volume = path.join(node.rootDir, 'volume')
    const message = path.join(node.rootDir, 'message')
    mkdirSync(volume)
    writeFileSync(path.join(volume, 'tool'), '#!/bin/sh\necho from the volume >>/data/out; hostname; pwd', {
      mode: 0o755,
    })
    writeFileSync(message, '')
    const mounts = [
      { containerPath: '/data', hostPath: volume, readonly: false },
      { containerPath: '/made/fixed', hostPath: volume, readonly: true },
      { containerPath: '/made/folder', hostPath: path.join(volume, 'missing'), readonly: false },
      { containerPath: '/dev/termination-log', hostPath: message, readonly: false },
    ]
    const script = `/data/tool
    echo last words >/dev/termination-log
    echo x >/made/fixed/x || echo read-only
    echo mine >/tmp/kubestage-own; echo >/dev/null; ls -d /made/folder /dev/shm; cat <&0
    exec sleep 1000`
    const started = await runtime.startContainer(
      configOf(node, sandbox, sh(script), {
        mounts,
        workingDir: '/not/there',
        logPath: path.join(node.rootDir, 'a.log'),
      }),
    )
    await until(() => texts(started.logPath).includes('/made/folder'), { what: 'its lines' })
    t.match(texts(started.logPath), [
      'files',
      '/not/there',
      /Read-only file system/,
      'read-only',
      '/dev/shm',
      '/made/folder',
    ])
    t.equal(readFileSync(message, 'utf8'), 'last words\n')
    t.equal(readFileSync(path.join(volume, 'out'), 'utf8'), 'from the volume\n')
    for (const file of ['/not', '/made', '/data', '/tmp/kubestage-own'])
      t.notOk(existsSync(file), `no ${file} on the host`)

    t.match(await runtime.execSync(started.id, { command: ['/made/fixed/tool'] }), {
      outcome: 'exited',
      exitCode: 0,
      output: 'files\n/not/there\n',
    })
    t.match(await runtime.execSync(started.id, { command: ['cat', '/tmp/kubestage-own'] }), { output: 'mine\n' })
    const other = await runtime.startContainer(
      configOf(node, sandbox, sh('cat /tmp/kubestage-own; cat /data/out'), { mounts, name: 'other', attempt: 1 }),
    )
    await exited(runtime, other.id)
    t.match(texts(other.logPath), [/No such file/, 'from the volume'])
    t.match(await recordOf(runtime, other.id), { exitCode: 0 })

    const shared = { ...sandbox, shareProcessNamespace: true }
    const beside = await runtime.startContainer(
      configOf(node, await runtime.startSandbox(shared), sh('cat /data/out; exec sleep 1000'), { mounts, attempt: 2 }),
    )
    await until(() => texts(beside.logPath).length > 0, { what: 'its line' })
    t.equal(texts(beside.logPath)[0], 'from the volume', 'also where processes are shared')
    t.match(await runtime.execSync(beside.id, { command: ['ls', '/data'] }), { output: 'missing\nout\ntool\n' })
    await runtime.stopContainer(beside.id, { signal: 'TERM', gracePeriodMs: 5_000 })
    t.match(await recordOf(runtime, beside.id), { exitCode: 143 })

    const impossible = [{ containerPath: '/etc/passwd', hostPath: volume, readonly: false }]
    const failed = await runtime.startContainer(
      configOf(node, sandbox, ['true'], { mounts: impossible, name: 'failed', attempt: 3 }),
    )
    await exited(runtime, failed.id)
    t.equal((await recordOf(runtime, failed.id)).exitCode, 128)
  },
)

t.test('images: the host’s programs by name, and a clear word for what is none', async (t) => {
  const folder = t.testdir()
  mkdirSync(path.join(folder, 'bin'))
  const images = createImages({
    commands: { 'nginx:*': ['/usr/sbin/nginx', '-g', 'daemon off;'] },
    paths: { 'tools*': folder },
    stopSignals: { 'nginx:*': 'SIGQUIT' },
  })
  t.equal(images.resolve('nginx:1.27').stopSignal, 'SIGQUIT')
  t.equal(images.resolve('busybox:1.37').stopSignal, undefined)
  t.same(images.resolve('nginx').cmd, ['/usr/sbin/nginx', '-g', 'daemon off;'], 'no tag is latest')
  t.same(images.resolve('docker.io/library/nginx:1.27').cmd, ['/usr/sbin/nginx', '-g', 'daemon off;'])
  t.same(images.resolve('tools:1').path, [folder])
  t.same(images.resolve('/bin/true').cmd, ['/bin/true'])
  t.same(images.resolve('busybox:1.37').cmd, ['sh'])
  t.same(
    images.resolve('example.com/app:1', { hasCommand: true }).cmd,
    [],
    'with a command of its own no mapping is needed',
  )
  t.throws(() => images.resolve('example.com/app:1'), {
    message: /--image 'example.com\/app:\*=\/path\/to\/program'/,
  })
  t.throws(() => images.resolve('Bad_Name!:1'), {
    message:
      'Failed to apply default image tag "Bad_Name!:1": couldn\'t parse image name "Bad_Name!:1": invalid reference format: repository name (library/Bad_Name!) must be lowercase',
  })
  t.throws(() => images.resolve('a b'), { message: /invalid reference format$/ })
})
