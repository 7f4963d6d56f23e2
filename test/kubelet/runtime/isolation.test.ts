import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { RuntimeCapabilities, WantedUser } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { markedProcesses, marker } from '../../../kubelet/runtime/process/marker.ts'
import { hostMounts, viewSteps } from '../../../kubelet/runtime/process/view/container-view.ts'
import { mounts } from '../../../kubelet/runtime/process/view/mount-points.ts'
import type { ContainerView } from '../../../kubelet/runtime/process/view/view.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, isAlive, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

async function processOne(t: Test, files: RuntimeCapabilities['files']): Promise<void> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  const isPossible = possible.isolation === 'pod' && (files === 'host' || possible.files === 'own')
  if (!isPossible) return skipOrFail(t, 'this machine gives us no namespaces')
  const node = await startNode(t, { isolation: 'pod', files })
  let { runtime } = node
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

  await runtime.close()
  runtime = await node.again()
  t.match(await recordOf(runtime, main.id), { state: 'running', pid: main.pid })
  await runtime.stopContainer(main.id, { signal: 'TERM', gracePeriodMs: 10_000 })
  t.match(await recordOf(runtime, main.id), { state: 'exited', exitCode: 4 })
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
      // On most machines /var/run is a link, and must not lead out of the container.
      { containerPath: '/var/run/kubestage/linked', hostPath: volume, readonly: true },
      { containerPath: '/dev/termination-log', hostPath: message, readonly: false },
    ]
    const script = `/data/tool
    echo last words >/dev/termination-log
    echo x >/made/fixed/x || echo read-only
    echo mine >/tmp/kubestage-own; echo >/dev/null; ls -d /made/folder /dev/shm /var/run/kubestage/linked/tool; cat <&0
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
      '/var/run/kubestage/linked/tool',
    ])
    t.equal(readFileSync(message, 'utf8'), 'last words\n')
    t.equal(readFileSync(path.join(volume, 'out'), 'utf8'), 'from the volume\n')
    for (const file of ['/not', '/made', '/data', '/tmp/kubestage-own', '/var/run/kubestage'])
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

    const sealed = await runtime.startContainer(
      configOf(
        node,
        sandbox,
        sh('for place in /tmp/own-x /etc/x /data/x /made/fixed/x /dev/shm/x; do echo $place; echo >$place; done; pwd'),
        {
          mounts,
          readonlyRoot: true,
          workingDir: '/not/there',
          name: 'sealed',
          attempt: 2,
          logPath: path.join(node.rootDir, 'sealed.log'),
        },
      ),
    )
    await exited(runtime, sealed.id)
    const refused = /Read-only file system/
    t.match(texts(sealed.logPath), [
      ...['/tmp/own-x', refused, '/etc/x', refused, '/data/x', '/made/fixed/x', refused, '/dev/shm/x', '/not/there'],
    ])
    t.ok(existsSync(path.join(volume, 'x')), 'a volume is written to all the same')

    const impossible = [{ containerPath: '/etc/passwd', hostPath: volume, readonly: false }]
    await t.rejects(
      runtime.startContainer(configOf(node, sandbox, ['true'], { mounts: impossible, name: 'failed', attempt: 3 })),
      { message: /error during container init: directory root\/etc\/passwd: file exists$/ },
    )
    const failed = (await runtime.list()).containers.find(({ name }) => name === 'failed')
    t.match(failed, { state: 'exited', exitCode: 128, reason: 'StartError' })
  },
)

t.test('a container runs as its user and groups: its files, its commands, its home, its ports', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  const node = await startNode(t, { isolation: 'pod', files: 'own' })
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'users')
  const listen = `perl -MIO::Socket -e 'IO::Socket::INET->new(LocalAddr => "${sandbox.ip}:81", Listen => 1) or die $!'`
  const whoAmI = 'echo $(id -u) $(id -g) $(id -G)'
  const script = `${whoAmI}; echo $HOME; echo said >/dev/stdout; echo mine >/tmp/kubestage-user; stat -c %u /tmp/kubestage-user
    echo x 2>&1 >/etc/kubestage-user; ${listen} && echo port 81; exec sleep 1000`
  const start = (name: string, user: Partial<WantedUser>, command = sh(script), attempt = 0) =>
    runtime.startContainer(
      configOf(node, sandbox, command, {
        user: { groups: [], ...user },
        name,
        attempt,
        logPath: path.join(node.rootDir, `${name}.log`),
      }),
    )
  const ordinary = await start('ordinary', { uid: 61_000, groups: [62_000, 63_000] })
  await until(() => texts(ordinary.logPath).includes('port 81'), {
    what: 'its lines',
  })
  t.match(texts(ordinary.logPath), ['61000 0 0 62000 63000', '/', 'said', '61000', /Permission denied/, 'port 81'])
  t.match(await runtime.execSync(ordinary.id, { command: sh(whoAmI) }), { output: '61000 0 0 62000 63000\n' })
  await runtime.stopContainer(ordinary.id, { signal: 'KILL', gracePeriodMs: 0 })

  const known = await start('known', { uid: 65_534 }, sh(`${whoAmI}; echo $HOME`))
  await exited(runtime, known.id)
  const [, , , gid, , home] = /^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? []
  t.same(texts(known.logPath), [`65534 ${gid} ${gid}`, home], 'group and home of /etc/passwd')
  const grouped = await start('grouped', { uid: 65_534, gid: 64_000 }, sh(whoAmI))
  await exited(runtime, grouped.id)
  t.same(texts(grouped.logPath), ['65534 64000 64000'])
  const inGroup = await start('in-group', { groups: [62_000] }, sh(whoAmI))
  await exited(runtime, inGroup.id)
  t.same(texts(inGroup.logPath), ['0 0 0 62000'], 'a group alone: root, in that group')

  const locked = scratchFolder(t, 'locked')
  chmodSync(locked, 0o700)
  writeFileSync(path.join(locked, 'program'), '#!/bin/sh\n', { mode: 0o755 })
  await t.rejects(start('locked', { uid: 61_000 }, [path.join(locked, 'program')]), {
    message: /exec: ".*program": permission denied/,
  })
})

t.test('a folder of short-lived files is open to all users, also where it is a file system of its own', (t) => {
  const mounted = mounts('24 1 0:21 / /tmp rw - tmpfs tmpfs rw\n25 1 0:22 / /run rw - tmpfs tmpfs rw\n')
  const view: Omit<ContainerView, 'files' | 'hostMounts'> = {
    scratch: '/s',
    mounts: [],
    hidden: { folders: [], files: [] },
    processes: 'own',
    machineSettings: false,
    workingDir: '/',
  }
  const steps = viewSteps({ ...view, files: 'own', hostMounts: hostMounts(mounted) })
  const modeOf = (folder: string) => {
    const upper = steps.find(([name, , target]) => name === 'mount' && target === `root${folder}`)?.at(-1)
    const [, name] = /upperdir=([^,]+)/.exec(upper ?? '') ?? []
    return Number(steps.find(([step, , file]) => step === 'mode' && file === name)?.[1]).toString(8)
  }
  t.same([modeOf('/tmp'), modeOf('/run'), modeOf('/')], ['1777', '755', 'NaN'])
  t.end()
})

t.test('what a container writes beside its volumes has a bound, all places together, and is counted', async (t) => {
  const capabilities = await possibleIsolation({ rootDir: t.testdir() })
  if (capabilities.files !== 'own') return skipOrFail(t, 'this machine lets us mount nothing')
  const mib = 1024 * 1024
  const node = await startNode(t, capabilities, { layerBytes: 4 * mib })
  const sandbox = await sandboxOf(node.runtime, 'layer')
  const write = (file: string) => `dd if=/dev/zero of=${file} bs=1048576 count=3 2>&1 | grep -o 'No space left.*'`
  const fill = `${write('/tmp/kubestage-first')}; ${write('/kubestage-second')}; echo full`
  const { id, logPath } = await node.runtime.startContainer(configOf(node, sandbox, sh(`${fill}; exec sleep 1000`)))
  await until(() => texts(logPath).includes('full'), { what: 'its layer to be full' })
  t.same(texts(logPath), ['No space left on device', 'full'])
  const [usage] = await node.runtime.usage('layer')
  t.ok(usage && usage.diskBytes >= 4 * mib && usage.diskBytes < 4.1 * mib, `${usage?.diskBytes} bytes are counted`)
  await node.runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
})

t.test('a shared process namespace: one view of the processes, with a process 1 of no container', async (t) => {
  const capabilities = await possibleIsolation({ rootDir: t.testdir() })
  if (capabilities.isolation !== 'pod') return skipOrFail(t, 'this machine gives us no namespaces')
  const node = await startNode(t, capabilities)
  const { runtime } = node
  const own = await sandboxOf(runtime, 'shared')
  await runtime.removeSandbox(own.id)
  const sandbox = await runtime.startSandbox({ ...own, shareProcessNamespace: true })
  const start = (name: string, command: string[]) =>
    runtime.startContainer(
      configOf(node, sandbox, command, { name, logPath: path.join(node.rootDir, `${name}.log`), env: { NAME: name } }),
    )
  const first = await start('first', sh('sleep 1000 & sleep 2000'))
  const second = await start('second', sh('echo my number is $$; exec sleep 3000'))
  const seen = await runtime.execSync(second.id, {
    command: sh('for i in /proc/[0-9]*; do tr "\\0" " " <$i/cmdline; echo; done; echo $NAME'),
  })
  t.match(seen, { outcome: 'exited', exitCode: 0 })
  for (const program of ['/pause', 'sleep 1000', 'sleep 2000', 'sleep 3000', 'second'])
    t.match(seen.output, program, `${program} is seen`)
  t.notMatch(seen.output, /node|tap/, 'and nothing of the machine')
  t.not(texts(second.logPath)[0], 'my number is 1')

  await runtime.stopContainer(second.id, { signal: 'TERM', gracePeriodMs: 10_000 })
  t.match(await recordOf(runtime, second.id), { exitCode: 143 }, 'it is not process 1: TERM ends it')
  t.match(await recordOf(runtime, first.id), { state: 'running' }, 'the other is not touched')

  const apart = await runtime.startSandbox({ ...own, podUid: 'apart' })
  const watched = await runtime.startContainer(configOf(node, apart, ['sleep', '4000'], { name: 'watched' }))
  const debugging = await runtime.startContainer(
    configOf(node, apart, ['cat', '/proc/1/cmdline'], {
      name: 'debugger',
      target: 'watched',
      logPath: `${node.rootDir}/d`,
    }),
  )
  await exited(runtime, debugging.id)
  t.match(texts(`${node.rootDir}/d`)[0], 'sleep', 'one that debugs another sees its processes')
  await runtime.stopContainer(watched.id, { signal: 'TERM', gracePeriodMs: 0 })
  await runtime.removeSandbox(apart.id)

  await runtime.close()
  const again = await node.again()
  t.match((await again.list()).sandboxes, [{ id: sandbox.id, state: 'ready' }])
  const third = await again.startContainer(configOf(node, sandbox, ['cat', '/proc/1/cmdline'], { name: 'third' }))
  await exited(again, third.id)
  t.match(texts(third.logPath)[0], '/pause', 'the next kubelet finds it')
  await again.stopContainer(first.id, { signal: 'TERM', gracePeriodMs: 0 })
  await again.stopSandbox(sandbox.id)
  const left = () => [...markedProcesses().keys()].filter((mark) => mark.startsWith(node.rootDir))
  await until(() => left().length === 0, { what: 'all its processes to be gone' })
  t.equal(left().length, 0)
})

t.test('an ordinary user has PID namespaces, too, if user namespaces are allowed', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'the tests above have shown it')
  const folder = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o777)
  const program = path.join(import.meta.dirname, 'ordinary-user.ts')
  const nobody = { uid: 65_534, gid: 65_534, cwd: '/', env: { ...process.env, TMPDIR: folder, HOME: folder } }
  const { error, stdout } = await new Promise<{ error: Error | null; stdout: string }>((resolve) =>
    execFile(process.execPath, [program], nobody, (error, stdout) => resolve({ error, stdout })),
  )
  if (error && /EACCES|permission denied/i.test(error.message)) return skipOrFail(t, 'nobody may read our files here')
  t.error(error)
  const { capabilities, log, ...found } = JSON.parse(stdout)
  if (capabilities.isolation !== 'pod') return skipOrFail(t, 'this machine gives namespaces of users to root only')
  t.same(capabilities, { isolation: 'pod', files: 'mounts' })
  t.match(log, / 1 65534\n/, 'process 1, and still nobody')
  const [comm, hostname, ...ipc] = found.beside.output.trim().split('\n')
  t.same([comm, hostname], ['sh', 'p'])
  t.ok(ipc[0] === ipc[1] && ipc[0] !== readlinkSync('/proc/self/ns/ipc'), 'System V IPC of the container alone')
  t.match(found, {
    beside: { outcome: 'exited', exitCode: 6 },
    late: { outcome: 'timeout', output: '' },
    exitCode: 4,
  })
})
